// Which view is shown, with its parameters. It is in the address (`#drive?path=anna`), so a reload stays where it was.

export const VIEWS = [
  "contacts",
  "drive",
  "shares",
  "transfers",
  "performance",
  "cache",
  "settings",
  "diagnostics",
] as const;
export type ViewName = (typeof VIEWS)[number];
export type Params = Readonly<Record<string, string>>;
export type Route = { view: ViewName; params: Params };

const isView = (name: string): name is ViewName => VIEWS.some((view) => view === name);

/** The first view when the address names none that exists. */
export function parseHash(hash: string): Route {
  const [name = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  if (!isView(name)) return { view: VIEWS[0], params: {} };
  return { view: name, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function formatHash({ view, params }: Route): string {
  const query = new URLSearchParams(params).toString();
  return query === "" ? `#${view}` : `#${view}?${query}`;
}

let route = $state.raw<Route>({ view: VIEWS[0], params: {} });

export const router = {
  get view(): ViewName {
    return route.view;
  },
  get params(): Params {
    return route.params;
  },
  go(view: ViewName, params: Params = {}): void {
    route = { view, params };
    history.replaceState(null, "", location.pathname + location.search + formatHash(route));
  },
  /** For names from outside; an unknown one is ignored. */
  goByName(name: string): void {
    if (isView(name)) router.go(name);
  },
  /** Reads the address; call once at the start. */
  start(): void {
    route = parseHash(location.hash);
    window.addEventListener("hashchange", () => (route = parseHash(location.hash)));
  },
};

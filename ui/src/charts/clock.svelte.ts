// The time for charts: it stands still while nobody can see them.

/** Milliseconds as `performance.now()` gives them, once a second. To be called while a component is set up. */
export function clock(): { readonly now: number } {
  let now = $state(performance.now());
  $effect(() => {
    let timer: ReturnType<typeof setInterval> | null = null;
    const stop = (): void => {
      if (timer !== null) {
        clearInterval(timer);
        timer = null;
      }
    };
    const follow = (): void => {
      stop();
      if (!document.hidden) {
        now = performance.now();
        timer = setInterval(() => (now = performance.now()), 1000);
      }
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", follow);
    };
  });
  return {
    get now(): number {
      return now;
    },
  };
}

#!/usr/bin/python3
"""The panel of a test's desktop: hosts tray icons and takes notifications on the session bus.

Reads one JSON request a line ({"id", "do", ...}) and answers each with one line ({"id", "result" or "error"}).

  items                  the registered tray icons with their properties
  menu                   the first icon's menu as a tree
  click {"path": [...]}  a click on the entry that labels lead to which match these regular expressions
  host {"present": bool} whether a panel with a tray is there
  notifications          those that came since the last request
"""

import hashlib
import json
import re
import sys

from gi.repository import Gio, GLib

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
NOTIFICATIONS = "org.freedesktop.Notifications"
PROPERTIES = "org.freedesktop.DBus.Properties"
DEADLINE = 5000  # milliseconds that a program may take to answer

INTERFACES = Gio.DBusNodeInfo.new_for_xml(f"""
<node>
  <interface name="{WATCHER}">
    <method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
    <method name="RegisterStatusNotifierHost"><arg type="s" direction="in"/></method>
    <property name="RegisteredStatusNotifierItems" type="as" access="read"/>
    <property name="IsStatusNotifierHostRegistered" type="b" access="read"/>
    <property name="ProtocolVersion" type="i" access="read"/>
    <signal name="StatusNotifierItemRegistered"><arg type="s"/></signal>
    <signal name="StatusNotifierItemUnregistered"><arg type="s"/></signal>
    <signal name="StatusNotifierHostRegistered"/>
  </interface>
  <interface name="{NOTIFICATIONS}">
    <method name="Notify">
      <arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
      <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
      <arg type="a{{sv}}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/>
    </method>
    <method name="CloseNotification"><arg type="u" direction="in"/></method>
    <method name="GetCapabilities"><arg type="as" direction="out"/></method>
    <method name="GetServerInformation">
      <arg type="s" direction="out"/><arg type="s" direction="out"/>
      <arg type="s" direction="out"/><arg type="s" direction="out"/>
    </method>
  </interface>
</node>
""")


class Failure(Exception):
    """What cannot be done, told to whoever asked."""


class Panel:
    def __init__(self, bus):
        self.bus = bus
        self.items = []
        self.notifications = []
        self.notified = 0
        self.name = None
        watcher = INTERFACES.lookup_interface(WATCHER)
        bus.register_object("/StatusNotifierWatcher", watcher, self.on_watcher, self.property, None)
        server = INTERFACES.lookup_interface(NOTIFICATIONS)
        bus.register_object("/org/freedesktop/Notifications", server, self.on_notifications, None, None)
        bus.signal_subscribe(
            "org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged", None, None,
            Gio.DBusSignalFlags.NONE, self.on_owner,
        )

    def property(self, _bus, _sender, _path, _interface, name):
        return {
            "RegisteredStatusNotifierItems": GLib.Variant("as", ["".join(item) for item in self.items]),
            "IsStatusNotifierHostRegistered": GLib.Variant("b", True),
            "ProtocolVersion": GLib.Variant("i", 0),
        }[name]

    def on_watcher(self, _bus, sender, _path, _interface, method, arguments, call):
        if method == "RegisterStatusNotifierItem":
            (service,) = arguments.unpack()
            # Some name an object on their own connection, others a bus name.
            item = (sender, service) if service.startswith("/") else (service, "/StatusNotifierItem")
            if item not in self.items:
                self.items.append(item)
            self.emit("StatusNotifierItemRegistered", GLib.Variant("(s)", ("".join(item),)))
        call.return_value(None)

    def on_notifications(self, _bus, _sender, _path, _interface, method, arguments, call):
        if method == "Notify":
            _application, replaces, _icon, summary, body, _actions, _hints, _timeout = arguments.unpack()
            self.notifications.append({"summary": summary, "body": body})
            self.notified += 1
            call.return_value(GLib.Variant("(u)", (replaces or self.notified,)))
        elif method == "GetCapabilities":
            call.return_value(GLib.Variant("(as)", (["body"],)))
        elif method == "GetServerInformation":
            call.return_value(GLib.Variant("(ssss)", ("panel", "test", "1", "1.2")))
        else:
            call.return_value(None)

    def on_owner(self, _bus, _sender, _path, _interface, _signal, arguments):
        name, _old, new = arguments.unpack()
        if not new:
            for item in [item for item in self.items if item[0] == name]:
                self.items.remove(item)
                self.emit("StatusNotifierItemUnregistered", GLib.Variant("(s)", ("".join(item),)))

    def emit(self, signal, arguments):
        self.bus.emit_signal(None, "/StatusNotifierWatcher", WATCHER, signal, arguments)

    def call(self, service, path, interface, method, arguments):
        """Asks another program, and goes on answering it meanwhile."""
        answers = []
        loop = GLib.MainLoop()

        def done(bus, result):
            try:
                answers.append(bus.call_finish(result))
            except GLib.Error as error:
                answers.append(Failure(error.message))
            loop.quit()

        self.bus.call(service, path, interface, method, arguments, None, Gio.DBusCallFlags.NO_AUTO_START, DEADLINE, None, done)
        loop.run()
        if isinstance(answers[0], Failure):
            raise answers[0]
        return answers[0].unpack()

    def properties(self, item):
        (found,) = self.call(*item, PROPERTIES, "GetAll", GLib.Variant("(s)", (ITEM,)))
        # Two icons are the same picture if this is the same.
        picture = hashlib.sha256(repr((found.get("IconPixmap"), found.get("IconName"))).encode()).hexdigest()
        return {"Picture": picture, **{name: value for name, value in found.items() if isinstance(value, (str, bool, int))}}

    def first(self):
        if not self.items:
            raise Failure("no tray icon is registered")
        service, _path = self.items[0]
        return service, self.properties(self.items[0])["Menu"]

    def tree(self, service, path):
        self.call(service, path, MENU, "AboutToShow", GLib.Variant("(i)", (0,)))
        _revision, root = self.call(service, path, MENU, "GetLayout", GLib.Variant("(iias)", (0, -1, [])))
        return entry(root)

    def answer(self, request):
        wanted = request["do"]
        if wanted == "items":
            return [self.properties(item) for item in self.items]
        if wanted == "menu":
            return self.tree(*self.first())["entries"]
        if wanted == "click":
            return self.click(request["path"])
        if wanted == "host":
            return self.host(request["present"])
        if wanted == "notifications":
            came, self.notifications = self.notifications, []
            return came
        raise Failure(f"unknown request {wanted}")

    def click(self, path):
        service, menu = self.first()
        found = self.tree(service, menu)
        for label in path:
            named = [below for below in found["entries"] if re.search(label, below["label"])]
            if not named:
                raise Failure(f"no entry {label!r} among {[below['label'] for below in found['entries']]}")
            found = named[0]
        if not found["enabled"]:
            raise Failure(f"{path} is disabled")
        event = GLib.Variant("(isvu)", (found["id"], "clicked", GLib.Variant("s", ""), 0))
        self.call(service, menu, MENU, "Event", event)
        return None

    def host(self, present):
        if present and self.name is None:
            self.name = Gio.bus_own_name_on_connection(self.bus, WATCHER, Gio.BusNameOwnerFlags.DO_NOT_QUEUE, None, None)
        elif not present and self.name is not None:
            Gio.bus_unown_name(self.name)
            self.name = None
        return None


def entry(raw):
    number, properties, below = raw
    return {
        "id": number,
        "label": plain(properties.get("label", "")),
        "enabled": properties.get("enabled", True),
        "separator": properties.get("type") == "separator",
        "checked": properties.get("toggle-state") == 1,
        "entries": [entry(child) for child in below if child[1].get("visible", True)],
    }


def plain(label):
    """A label without the marks of its access key: "_Quit" is "Quit", "a__b" is "a_b"."""
    return label.replace("__", "\0").replace("_", "").replace("\0", "_")


def main():
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    panel = Panel(bus)
    Gio.bus_own_name_on_connection(bus, NOTIFICATIONS, Gio.BusNameOwnerFlags.DO_NOT_QUEUE, None, None)
    loop = GLib.MainLoop()
    requests = Gio.DataInputStream.new(Gio.UnixInputStream.new(sys.stdin.fileno(), False))

    def take(stream, result):
        line, _length = stream.read_line_finish_utf8(result)
        if line is None:
            loop.quit()
            return
        request = json.loads(line)
        try:
            answer = {"id": request["id"], "result": panel.answer(request)}
        except Failure as failure:
            answer = {"id": request["id"], "error": str(failure)}
        print(json.dumps(answer), flush=True)
        stream.read_line_async(GLib.PRIORITY_DEFAULT, None, take)

    requests.read_line_async(GLib.PRIORITY_DEFAULT, None, take)
    print(json.dumps({"ready": True}), flush=True)
    loop.run()


main()

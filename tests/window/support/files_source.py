#!/usr/bin/python3
"""A file manager's part in a test: files that can be dragged out of its little window, or that it copied.

  files_source.py drag X,Y FILE...   a window at X,Y that files are dragged from, until a drag ends
  files_source.py copy FILE...       owns the clipboard until ended

Prints one line when ready, and one for each step of a drag.
"""

import os
import sys
from urllib.parse import quote

arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
# GDK reads the arguments too, and cannot read all file names.
sys.argv = sys.argv[:1]

import gi  # noqa: E402

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402


def addresses(files):
    return ["file://" + quote(os.path.abspath(file)) for file in files]


def say(word):
    print(word, flush=True)


def drag(place, files):
    # Placed exactly where it is asked for, without a window manager's help.
    window = Gtk.Window(type=Gtk.WindowType.POPUP)
    box = Gtk.EventBox()
    box.add(Gtk.Label(label="files"))
    window.add(box)
    window.set_default_size(100, 60)
    window.move(*(int(number) for number in place.split(b",")))
    box.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY | Gdk.DragAction.LINK)
    box.drag_source_add_uri_targets()
    box.connect("drag-begin", lambda *_: say("begin"))
    box.connect("drag-data-get", lambda _box, _context, data, *_: data.set_uris(addresses(files)))

    def end(*_):
        say("end")
        # The source answers what is still asked about the drag before it goes.
        GLib.idle_add(Gtk.main_quit)

    box.connect("drag-end", end)
    window.connect("map-event", lambda *_: GLib.idle_add(lambda: say("ready")))
    window.show_all()
    Gtk.main()


def copy(files):
    owner = Gtk.Invisible()
    Gtk.selection_add_target(owner, Gdk.SELECTION_CLIPBOARD, Gdk.Atom.intern("text/uri-list", False), 0)
    owner.connect("selection-get", lambda _owner, data, *_: data.set_uris(addresses(files)))
    if not Gtk.selection_owner_set(owner, Gdk.SELECTION_CLIPBOARD, Gdk.CURRENT_TIME):
        sys.exit("the clipboard cannot be owned")
    say("ready")
    Gtk.main()


if arguments[0] == b"drag":
    drag(arguments[1], arguments[2:])
else:
    copy(arguments[1:])

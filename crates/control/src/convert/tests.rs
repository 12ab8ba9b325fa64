use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use farhold_engine::commands::{DrivePath, Listed, ListedKind, Share, ShareRequest, ShareState};
use farhold_engine::status::Status;
use farhold_wire::{Name, Timestamp};
use proptest::prelude::*;

use super::commands::{drive_path_from, drive_path_to, path_from, shares_from, shares_to};
use super::{FromProto, Malformed, ToProto, pb};

fn name() -> impl Strategy<Value = Name> {
    prop::collection::vec(any::<u8>(), 1..40).prop_filter_map("a name", |bytes| Name::new(bytes).ok())
}

fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(1u8.., 0..40)
        .prop_map(|bytes| PathBuf::from(OsString::from_vec([b"/".as_slice(), &bytes].concat())))
}

proptest! {
    #[test]
    fn paths_and_names_survive_byte_for_byte(
        path in path(), name in name(), below in prop::collection::vec(name(), 0..4), writable: bool,
    ) {
        let share = Share { path: path.clone(), with: "ben".into(), name: name.clone(), writable, state: ShareState::Scanning, entries: 3 };
        prop_assert_eq!(shares_from(shares_to(vec![share.clone()])), Ok(vec![share]));

        let request =
            ShareRequest { paths: vec![path], with: Some("ben".into()), name: Some(name.clone()), writable };
        prop_assert_eq!(ShareRequest::from_proto(request.clone().to_proto()), Ok(request));

        let place = DrivePath { contact: "ben".into(), below };
        prop_assert_eq!(drive_path_from(drive_path_to(&place)), Ok(place));

        let modified = Timestamp { seconds: -5, nanos: 7 };
        let listed = Listed { name, kind: ListedKind::Symlink, size: 9, modified, mode: 0o777 };
        prop_assert_eq!(Listed::from_proto(listed.clone().to_proto()), Ok(listed));
    }
}

#[test]
fn what_lacks_something_is_refused() {
    assert_eq!(path_from("relative".into()), Err(Malformed("absolute path")));
    assert_eq!(drive_path_from("/".into()), Err(Malformed("path in the drive")));
    assert_eq!(Listed::from_proto(pb::Listed::default()), Err(Malformed("kind")));
    assert_eq!(Status::from_proto(pb::StatusReply::default()), Err(Malformed("seek")));
    let unnamed =
        pb::Share { path: "/a".into(), state: pb::ShareState::Ready.into(), ..pb::Share::default() };
    assert_eq!(Share::from_proto(unnamed), Err(Malformed("name")));
}

//! Who uses the drive, and what the doctor found.

use farhold_engine::commands::{Holder, Unmounted};
use farhold_engine::doctor::{Finding, Verdict};

use super::commands::{path_from, path_to};
use super::{FromProto, Malformed, ToProto, all, pb};

impl ToProto for Holder {
    type Message = pb::Holder;

    fn to_proto(self) -> pb::Holder {
        let Holder { pid, program, file } = self;
        pb::Holder { pid, program, file: path_to(&file) }
    }
}

impl FromProto for Holder {
    type Message = pb::Holder;

    fn from_proto(holder: pb::Holder) -> Result<Self, Malformed> {
        let pb::Holder { pid, program, file } = holder;
        Ok(Self { pid, program, file: path_from(file)? })
    }
}

impl ToProto for Unmounted {
    type Message = pb::UnmountReply;

    fn to_proto(self) -> pb::UnmountReply {
        let Unmounted { unmounted, holders } = self;
        pb::UnmountReply { unmounted, holders: holders.into_iter().map(ToProto::to_proto).collect() }
    }
}

impl FromProto for Unmounted {
    type Message = pb::UnmountReply;

    fn from_proto(reply: pb::UnmountReply) -> Result<Self, Malformed> {
        let pb::UnmountReply { unmounted, holders } = reply;
        Ok(Self { unmounted, holders: all(holders)? })
    }
}

impl ToProto for Finding {
    type Message = pb::Finding;

    fn to_proto(self) -> pb::Finding {
        let verdict = match self.verdict {
            Verdict::Ok => pb::Verdict::Ok,
            Verdict::Warning => pb::Verdict::Warning,
            Verdict::Failed => pb::Verdict::Failed,
        };
        let Finding { check, verdict: _, detail, fix } = self;
        pb::Finding { check, verdict: verdict.into(), detail, fix }
    }
}

impl FromProto for Finding {
    type Message = pb::Finding;

    fn from_proto(finding: pb::Finding) -> Result<Self, Malformed> {
        let verdict = match finding.verdict() {
            pb::Verdict::Ok => Verdict::Ok,
            pb::Verdict::Warning => Verdict::Warning,
            pb::Verdict::Failed => Verdict::Failed,
            pb::Verdict::Unspecified => return Err(Malformed("verdict")),
        };
        let pb::Finding { check, verdict: _, detail, fix } = finding;
        Ok(Self { check, verdict, detail, fix })
    }
}

//! The settings.

use farhold_engine::settings::{Settings, SettingsKey, StoredSettings};

use super::commands::{path_from, path_to};
use super::{FromProto, Malformed, ToProto, pb, required};

impl ToProto for Settings {
    type Message = pb::Settings;

    fn to_proto(self) -> pb::Settings {
        let Settings {
            relay,
            drive,
            mount,
            allow_other,
            listen_port,
            lan,
            relay_only,
            cache_dir,
            cache_limit,
            limit_receive,
            limit_send,
        } = self;
        pb::Settings {
            relay,
            drive: drive.as_deref().map(path_to),
            mount,
            allow_other,
            listen_port: listen_port.into(),
            lan,
            relay_only,
            cache_dir: cache_dir.as_deref().map(path_to),
            cache_limit,
            limit_receive,
            limit_send,
        }
    }
}

impl FromProto for Settings {
    type Message = pb::Settings;

    fn from_proto(settings: pb::Settings) -> Result<Self, Malformed> {
        let pb::Settings {
            relay,
            drive,
            mount,
            allow_other,
            listen_port,
            lan,
            relay_only,
            cache_dir,
            cache_limit,
            limit_receive,
            limit_send,
        } = settings;
        Ok(Self {
            relay,
            drive: drive.map(path_from).transpose()?,
            mount,
            allow_other,
            listen_port: u16::try_from(listen_port).map_err(|_| Malformed("port"))?,
            lan,
            relay_only,
            cache_dir: cache_dir.map(path_from).transpose()?,
            cache_limit,
            limit_receive,
            limit_send,
        })
    }
}

impl ToProto for StoredSettings {
    type Message = pb::SettingsReply;

    fn to_proto(self) -> pb::SettingsReply {
        let restart_needed = self.restart_needed.iter().map(|key| key.name().to_owned()).collect();
        pb::SettingsReply { settings: Some(self.settings.to_proto()), restart_needed }
    }
}

impl FromProto for StoredSettings {
    type Message = pb::SettingsReply;

    fn from_proto(reply: pb::SettingsReply) -> Result<Self, Malformed> {
        let key = |name: &String| name.parse::<SettingsKey>().map_err(|_| Malformed("name of a setting"));
        Ok(Self {
            settings: required(reply.settings, "settings")?,
            restart_needed: reply.restart_needed.iter().map(key).collect::<Result<_, _>>()?,
        })
    }
}

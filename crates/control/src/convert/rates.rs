//! Limits of rates.

use farhold_engine::commands::{RateChange, RateLimits};

use super::{FromProto, Malformed, ToProto, pb};

fn limit_to(bytes_per_second: Option<u64>) -> pb::RateLimit {
    pb::RateLimit { bytes_per_second }
}

impl ToProto for RateChange {
    type Message = pb::LimitRatesRequest;

    fn to_proto(self) -> pb::LimitRatesRequest {
        pb::LimitRatesRequest { receive: self.receive.map(limit_to), send: self.send.map(limit_to) }
    }
}

impl FromProto for RateChange {
    type Message = pb::LimitRatesRequest;

    fn from_proto(request: pb::LimitRatesRequest) -> Result<Self, Malformed> {
        let limit = |limit: pb::RateLimit| limit.bytes_per_second;
        Ok(Self { receive: request.receive.map(limit), send: request.send.map(limit) })
    }
}

impl ToProto for RateLimits {
    type Message = pb::LimitRatesReply;

    fn to_proto(self) -> pb::LimitRatesReply {
        pb::LimitRatesReply { receive: Some(limit_to(self.receive)), send: Some(limit_to(self.send)) }
    }
}

impl FromProto for RateLimits {
    type Message = pb::LimitRatesReply;

    fn from_proto(reply: pb::LimitRatesReply) -> Result<Self, Malformed> {
        let limit = |limit: Option<pb::RateLimit>| limit.ok_or(Malformed("rate limit"));
        Ok(Self {
            receive: limit(reply.receive)?.bytes_per_second,
            send: limit(reply.send)?.bytes_per_second,
        })
    }
}

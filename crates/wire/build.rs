//! Compiles `proto/` without protoc.

use std::path::Path;

const FILES: [&str; 3] = ["relay.proto", "peer.proto", "control.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    for file in FILES {
        println!("cargo:rerun-if-changed={}", folder.join(file).display());
    }
    let descriptors = protox::compile(FILES, [&folder])?;
    tonic_prost_build::configure().bytes(".").build_transport(true).compile_fds(descriptors)?;
    Ok(())
}

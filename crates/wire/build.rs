//! Compiles `proto/` without protoc.

use std::path::Path;

const FILES: [&str; 3] = ["relay.proto", "peer.proto", "control.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo runs this in the crate's folder. A path that is compiled in would be wrong in another checkout that shares
    // the target directory.
    let folder = Path::new("../../proto");
    for file in FILES {
        println!("cargo:rerun-if-changed={}", folder.join(file).display());
    }
    let descriptors = protox::compile(FILES, [folder])?;
    tonic_prost_build::configure().bytes(".").build_transport(true).compile_fds(descriptors)?;
    Ok(())
}

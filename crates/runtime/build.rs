//! Compiles the kernels to PTX where the feature `cuda` is on.
//!
//! At build time and not ahead of it: candle's own kernels need `nvcc` then in
//! any case, and so the PTX is always that of the sources. It is of a low
//! architecture; the driver compiles it further for the GPU that is there.

use std::path::PathBuf;
use std::process::{Command, exit};

/// The oldest architecture that the compiler of CUDA 13 knows.
const ARCHITECTURE: &str = "compute_75";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    println!("cargo:rerun-if-changed=kernels");
    for variable in ["NVCC", "CUDA_HOME", "CUDA_PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let Some(folder) = std::env::var_os("OUT_DIR") else {
        fail("cargo gives no OUT_DIR");
    };
    let ptx = PathBuf::from(folder).join("tokenmold.ptx");
    let nvcc = nvcc();
    // Contracting a product and a sum would give other bits than the twin's.
    let compiled = Command::new(&nvcc)
        .args(["-ptx", "-O3", "-std=c++17", "-fmad=false", "-arch"])
        .args([ARCHITECTURE, "-o"])
        .arg(&ptx)
        .arg("kernels/tokenmold.cu")
        .output();
    match compiled {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&format!(
            "{} could not compile kernels/tokenmold.cu:\n{}{}",
            nvcc.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => fail(&format!(
            "the feature `cuda` needs NVIDIA's compiler, and {} cannot be run: {error}. Install \
             the CUDA toolkit (12 or newer) and name it by CUDA_HOME, or the compiler by NVCC; or \
             build without the feature",
            nvcc.display()
        )),
    }
}

/// The compiler: what `NVCC` says, or that of the toolkit, or that of the path.
fn nvcc() -> PathBuf {
    if let Some(nvcc) = std::env::var_os("NVCC") {
        return nvcc.into();
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os);
    let homes = homes.chain(["/usr/local/cuda".into()]);
    let mut found = homes.map(|home| PathBuf::from(home).join("bin/nvcc"));
    found
        .find(|nvcc| nvcc.is_file())
        .unwrap_or_else(|| "nvcc".into())
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(1)
}

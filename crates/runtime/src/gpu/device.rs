//! Which device a model runs on. For example, `cuda:1` is the second NVIDIA GPU.

use std::fmt;
use std::str::FromStr;

use candle_core::Device;

use crate::{Error, ErrorKind};

/// A device, by name: `cpu`, `cuda` or `cuda:N`.
///
/// ```
/// use tokenmold::gpu::DeviceChoice;
///
/// assert_eq!("cuda:1".parse::<DeviceChoice>()?, DeviceChoice::Cuda(1));
/// assert_eq!(DeviceChoice::default().to_string(), "cpu");
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceChoice {
    /// The processor.
    #[default]
    Cpu,
    /// The NVIDIA GPU of that number, from 0. Needs the feature `cuda`.
    Cuda(usize),
}

impl DeviceChoice {
    /// Opens the device. A GPU has one stream of work for all threads then, which
    /// [`DeviceSampler`](super::DeviceSampler) and its like ask for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Device`]: the build lacks the feature `cuda`, there is no
    /// driver, or no such GPU.
    pub fn open(self) -> Result<Device, Error> {
        match self {
            DeviceChoice::Cpu => Ok(Device::Cpu),
            DeviceChoice::Cuda(number) => open_cuda(number),
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(number: usize) -> Result<Device, Error> {
    Err(Error::new(
        ErrorKind::Device,
        format!(
            "cuda:{number}: this build does not run on GPUs; build it with `--features cuda`, \
             or use `cpu`"
        ),
    ))
}

#[cfg(feature = "cuda")]
fn open_cuda(number: usize) -> Result<Device, Error> {
    // One stream for all threads, so that work is done in the order of the calls
    // whichever thread makes them.
    Device::new_cuda_with_stream(number).map_err(|error| {
        let why = crate::error::first_line(&error);
        let message = format!(
            "cuda:{number}: the GPU cannot be used: {why}; is an NVIDIA driver installed, and \
             is there a GPU of that number?"
        );
        Error::with_source(ErrorKind::Device, message, error)
    })
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// As its name.
impl serde::Serialize for DeviceChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// By its name.
impl<'de> serde::Deserialize<'de> for DeviceChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for DeviceChoice {
    type Err = Error;

    /// # Errors
    ///
    /// [`ErrorKind::InvalidParameter`]: it is none of the names.
    fn from_str(name: &str) -> Result<Self, Error> {
        let number = name.strip_prefix("cuda:").map(str::parse);
        match (name, number) {
            ("cpu", _) => Ok(DeviceChoice::Cpu),
            ("cuda", _) => Ok(DeviceChoice::Cuda(0)),
            (_, Some(Ok(number))) => Ok(DeviceChoice::Cuda(number)),
            _ => Err(Error::new(
                ErrorKind::InvalidParameter,
                format!("`{name}` is no device; devices are `cpu`, `cuda` and `cuda:N`"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_known_by_name() {
        for (name, device) in [
            ("cpu", DeviceChoice::Cpu),
            ("cuda", DeviceChoice::Cuda(0)),
            ("cuda:3", DeviceChoice::Cuda(3)),
        ] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap(), device);
        }
        assert_eq!(DeviceChoice::Cuda(3).to_string(), "cuda:3");
        for name in ["", "gpu", "cuda:", "cuda:-1", "CPU"] {
            let error = name.parse::<DeviceChoice>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParameter);
        }
        assert!(DeviceChoice::Cpu.open().unwrap().is_cpu());
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn without_the_feature_a_gpu_is_refused_by_name() {
        let error = DeviceChoice::Cuda(1).open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(error.to_string().starts_with("cuda:1: "), "{error}");
        assert!(error.to_string().contains("--features cuda"), "{error}");
    }
}

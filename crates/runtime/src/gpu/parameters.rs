//! The parameters of a text's draws on a device. For example, temperature, top-p and the seed are
//! eight words that kernels read.

use crate::sampling::{Sampler, SamplingConfig};
use crate::{Error, ErrorKind};

/// The parameters of one text, in the order of their words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) temperature: f32,
    pub(crate) top_k: u32,
    pub(crate) top_p: f32,
    pub(crate) min_p: f32,
    pub(crate) seed: u64,
    /// Tokens drawn so far.
    pub(crate) draws: u64,
}

impl Parameters {
    /// Returns the parameters of a configuration, at the start of its draws.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParameter`]: a parameter is out of its range, or a
    /// penalty is asked for, which needs the history on the device.
    pub(crate) fn new(config: &SamplingConfig) -> Result<Self, Error> {
        Sampler::new(config.clone())?;
        for (name, penalty, none) in [
            ("repetition_penalty", config.repetition_penalty, 1.0),
            ("frequency_penalty", config.frequency_penalty, 0.0),
            ("presence_penalty", config.presence_penalty, 0.0),
        ] {
            if penalty != none {
                return Err(Error::new(
                    ErrorKind::InvalidParameter,
                    format!(
                        "`{name}` is {penalty}; draws on a device have none: set it to {none}, or \
                         draw on the host"
                    ),
                ));
            }
        }
        Ok(Self {
            temperature: config.temperature,
            // More than all tokens are all tokens.
            top_k: u32::try_from(config.top_k).unwrap_or(0),
            top_p: config.top_p,
            min_p: config.min_p,
            seed: config.seed,
            draws: 0,
        })
    }

    /// As the kernels read them.
    #[cfg(any(test, feature = "cuda"))]
    pub(crate) fn words(&self) -> [u32; 8] {
        [
            self.temperature.to_bits(),
            self.top_k,
            self.top_p.to_bits(),
            self.min_p.to_bits(),
            self.seed as u32,
            (self.seed >> 32) as u32,
            self.draws as u32,
            (self.draws >> 32) as u32,
        ]
    }
}

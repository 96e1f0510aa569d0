//! Logits under a mask, in place. For example, logits `[1.0, 2.0]` under a mask of token 1 become
//! `[-inf, 2.0]`.

use pyo3::prelude::*;

use crate::buffers::{Element, Elements, Matrix};
use crate::error::{detached, of_kind};

/// The value that forbids a token: minus infinity, as the bits of each type of logits.
struct MinusInfinity;

impl MinusInfinity {
    const FLOAT16: u16 = 0xFC00;
    const BFLOAT16: u16 = 0xFF80;
    const FLOAT32: u32 = f32::NEG_INFINITY.to_bits();
    const FLOAT64: u64 = f64::NEG_INFINITY.to_bits();
}

/// Sets the logits of forbidden tokens to minus infinity: row `i` of the logits by row
/// `rows[i]` of the mask, or row `i`. Logits behind the mask are forbidden. `bfloat16` says
/// that elements of two bytes are of that type.
#[pyfunction]
#[pyo3(name = "_apply_mask", signature = (logits, mask, rows = None, bfloat16 = false))]
pub(crate) fn apply_mask(
    py: Python<'_>,
    logits: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    rows: Option<Vec<usize>>,
    bfloat16: bool,
) -> PyResult<()> {
    let logits = Matrix::of(logits, Elements::Logits)?;
    let mask = Matrix::of(mask, Elements::MaskWords)?;
    let given = rows.as_ref().map_or(mask.rows(), Vec::len);
    if given != logits.rows() {
        let message = format!(
            "{} rows of logits, and {given} rows of masks",
            logits.rows()
        );
        return Err(of_kind("buffer_size", message));
    }
    match logits.item_size() {
        2 if bfloat16 => apply(py, &logits, &mask, rows.as_deref(), MinusInfinity::BFLOAT16),
        2 => apply(py, &logits, &mask, rows.as_deref(), MinusInfinity::FLOAT16),
        4 => apply(py, &logits, &mask, rows.as_deref(), MinusInfinity::FLOAT32),
        _ => apply(py, &logits, &mask, rows.as_deref(), MinusInfinity::FLOAT64),
    }
}

fn apply<T: Element + Send + Sync>(
    py: Python<'_>,
    logits: &Matrix,
    mask: &Matrix,
    rows: Option<&[usize]>,
    forbidden: T,
) -> PyResult<()> {
    for at in 0..logits.rows() {
        let row = rows.map_or(at, |rows| rows[at]);
        let (mut logits, mut mask) = (logits.row::<T>(at)?, mask.row::<u32>(row)?);
        let (logits, mask) = (&mut logits, &mut mask);
        detached(py, || {
            let (words, logits) = (&*mask.as_mut_slice(), logits.as_mut_slice());
            let covered = logits.len().min(words.len() * 32);
            let (under, beyond) = logits.split_at_mut(covered);
            for (word, logits) in words.iter().zip(under.chunks_mut(32)) {
                match *word {
                    u32::MAX => {}
                    0 => logits.fill(forbidden),
                    word => {
                        for (bit, logit) in logits.iter_mut().enumerate() {
                            if word >> bit & 1 == 0 {
                                *logit = forbidden;
                            }
                        }
                    }
                }
            }
            beyond.fill(forbidden);
            Ok(())
        })?;
    }
    Ok(())
}

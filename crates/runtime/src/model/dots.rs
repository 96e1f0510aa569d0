//! Products of a matrix in 16 bits with a few rows of activations, which read the matrix once and
//! keep no wide copy of it: what a step of one or some texts is made of. For example, a step of one
//! text reads each matrix of a layer once, in bf16, and adds up in 32 bits.

use candle_core::{CpuStorage, Device, Result, Storage, Tensor};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use rayon::prelude::*;

/// The most rows of activations for which this is the faster way: the sums of more do not fit into
/// a processor's registers, so that a blocked product wins.
const FEW: usize = 8;

/// Fewer multiplications than this are done on one thread: to wake another takes as long.
const WORTH_SHARING: usize = 1 << 18;

/// Values that are widened and summed together: 16 sums side by side, which a
/// processor adds up as vectors.
const LANES: usize = 16;

/// The number of a row's values that are widened at once: few, so that they stay in registers and
/// the first cache.
const CHUNK: usize = 4 * LANES;

/// A float that becomes one of 32 bits without loss.
trait Wide: Copy + Sync {
    fn widen(from: &[Self], to: &mut [f32]);
}

impl Wide for bf16 {
    fn widen(from: &[bf16], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = f32::from_bits(u32::from(from.to_bits()) << 16);
        }
    }
}

impl Wide for f16 {
    fn widen(from: &[f16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }
}

/// `x`, `[tokens, columns]`, times the transposed `matrix`, `[rows, columns]`:
/// `[tokens, rows]`. `None` if there are more than [`FEW`] tokens, or the matrix is
/// not one of 16-bit floats that lie in a row in memory.
pub(super) fn product(x: &Tensor, matrix: &Tensor) -> Result<Option<Tensor>> {
    let ((tokens, columns), (rows, _)) = (x.dims2()?, matrix.dims2()?);
    if tokens > FEW || columns == 0 {
        return Ok(None);
    }
    let x: Vec<f32> = x.flatten_all()?.to_vec1()?;
    let (storage, layout) = matrix.storage_and_layout();
    let Some((from, to)) = layout.contiguous_offsets() else {
        return Ok(None);
    };
    let sums = match &*storage {
        Storage::Cpu(CpuStorage::BF16(all)) => dots(&all[from..to], &x, columns),
        Storage::Cpu(CpuStorage::F16(all)) => dots(&all[from..to], &x, columns),
        _ => return Ok(None),
    };
    let sums = Tensor::from_vec(sums, (rows, tokens), &Device::Cpu)?;
    match tokens {
        1 => sums.reshape((1, rows)).map(Some),
        _ => sums.t()?.contiguous().map(Some),
    }
}

/// The products of each row of the matrix with each row of `x`, row of the matrix by
/// row.
fn dots<W: Wide>(matrix: &[W], x: &[f32], columns: usize) -> Vec<f32> {
    let tokens = x.len() / columns;
    let mut sums = vec![0.0; matrix.len() / columns * tokens];
    if matrix.len() * tokens < WORTH_SHARING {
        let rows = sums.chunks_mut(tokens).zip(matrix.chunks(columns));
        rows.for_each(|(sums, row)| row_dots(row, x, sums));
        return sums;
    }
    sums.par_chunks_mut(tokens)
        .zip(matrix.par_chunks(columns))
        .with_min_len(32)
        .for_each(|(sums, row)| row_dots(row, x, sums));
    sums
}

/// The products of one row with each row of `x`.
fn row_dots<W: Wide>(row: &[W], x: &[f32], sums: &mut [f32]) {
    let mut lanes = [[0.0_f32; LANES]; FEW];
    let mut wide = [0.0_f32; CHUNK];
    for (at, values) in row.chunks(CHUNK).enumerate() {
        let wide = &mut wide[..values.len()];
        W::widen(values, wide);
        for (lanes, x) in lanes.iter_mut().zip(x.chunks_exact(row.len())) {
            let x = &x[at * CHUNK..][..values.len()];
            let (wide_parts, wide_rest) = wide.as_chunks::<LANES>();
            let (x_parts, x_rest) = x.as_chunks::<LANES>();
            for (w, x) in wide_parts.iter().zip(x_parts) {
                for ((lane, w), x) in lanes.iter_mut().zip(w).zip(x) {
                    *lane += w * x;
                }
            }
            for ((lane, w), x) in lanes.iter_mut().zip(wide_rest).zip(x_rest) {
                *lane += w * x;
            }
        }
    }
    for (sum, lanes) in sums.iter_mut().zip(&lanes) {
        *sum = lanes.iter().sum();
    }
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;

    /// Values from -1 to 1.
    fn numbers(shape: (usize, usize), seed: &mut u32) -> Tensor {
        let mut next = || {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *seed as f32 / (1u32 << 31) as f32 - 1.0
        };
        let values: Vec<f32> = (0..shape.0 * shape.1).map(|_| next()).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    /// Every count of tokens and odd widths, beside candle's product.
    #[test]
    fn products_are_those_of_the_library() {
        let mut seed = 1;
        for (columns, rows) in [(1, 1), (15, 3), (64, 40), (65, 7), (200, 33)] {
            for tokens in 1..=FEW {
                let x = numbers((tokens, columns), &mut seed);
                for dtype in [DType::BF16, DType::F16] {
                    let whole = numbers((rows + 1, columns), &mut seed);
                    let whole = whole.to_dtype(dtype).unwrap();
                    let matrix = whole.narrow(0, 1, rows).unwrap();
                    let own = product(&x, &matrix).unwrap().unwrap();
                    let wide = matrix.to_dtype(DType::F32).unwrap();
                    let wanted = x.matmul(&wide.t().unwrap()).unwrap();
                    assert_eq!(own.dims(), wanted.dims());
                    let far = (own - wanted).unwrap().abs().unwrap().max_all().unwrap();
                    assert!(far.to_scalar::<f32>().unwrap() < 1e-4, "{dtype:?}");
                }
            }
        }
        let many = numbers((FEW + 1, 4), &mut seed);
        let matrix = many.to_dtype(DType::BF16).unwrap();
        assert!(product(&many, &matrix).unwrap().is_none());
        let few = many.narrow(0, 0, 2).unwrap();
        assert!(product(&few, &many).unwrap().is_none());
    }
}

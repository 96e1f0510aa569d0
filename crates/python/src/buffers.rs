//! Memory that Python lends: rows of masks and of logits.
//!
//! The only unsafe code of this crate. Masks are written while the interpreter's lock is given
//! up, by several threads for a batch, so that no slice that is bound to the lock will do; a
//! copy through Python's own functions under the lock takes a tenth of a fill.
//!
//! For example, a NumPy array of `int32` with 8 rows of 4,008 words is masks for 8 texts over
//! 128,256 tokens.
#![allow(unsafe_code)]

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{ffi, intern};

use crate::error::of_kind;

/// A matrix of Python's, of elements of one size.
pub(crate) struct Matrix {
    /// Keeps the memory where it is.
    buffer: PyUntypedBuffer,
    rows: usize,
    columns: usize,
}

/// The type of the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elements {
    /// 32 bits of a mask.
    MaskWords,
    /// Logits of 2, 4 or 8 bytes.
    Logits,
}

impl Matrix {
    /// The memory of an object: through the buffer protocol, or through the `numpy()` of a
    /// tensor on the CPU. One dimension is a matrix of one row.
    ///
    /// # Errors
    ///
    /// A `TypeError`: it has no memory that can be written here, or the wrong elements. A
    /// `TokenmoldError` (`buffer_size`): its rows do not lie one behind another.
    pub(crate) fn of(object: &Bound<'_, PyAny>, elements: Elements) -> PyResult<Matrix> {
        // SAFETY: the object is alive and the lock is held; the function looks at its type.
        let buffer = match unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } {
            0 => PyUntypedBuffer::get(&array_of(object)?)?,
            _ => PyUntypedBuffer::get(object)?,
        };
        let right = match (
            elements,
            ElementType::from_format(buffer.format()),
            buffer.item_size(),
        ) {
            (
                Elements::MaskWords,
                ElementType::SignedInteger { .. } | ElementType::UnsignedInteger { .. },
                4,
            ) => true,
            // `e`, which is no type of Rust's, is Unknown; bfloat16 comes as its bits.
            (Elements::Logits, ElementType::Float { .. }, 4 | 8) => true,
            (Elements::Logits, _, 2) => true,
            _ => false,
        };
        let kind = match elements {
            Elements::MaskWords => "a mask has elements of int32 or uint32",
            Elements::Logits => "logits have elements of float16, bfloat16, float32 or float64",
        };
        if !right {
            let format = buffer.format().to_string_lossy();
            return Err(PyTypeError::new_err(format!(
                "{kind}, not of format {format:?}"
            )));
        }
        if buffer.readonly() {
            return Err(PyTypeError::new_err("the memory cannot be written"));
        }
        let (rows, columns) = match *buffer.shape() {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => {
                return Err(of_kind(
                    "buffer_size",
                    "a matrix has one dimension or two: rows, and what a row holds",
                ));
            }
        };
        if !buffer.is_c_contiguous() {
            return Err(of_kind(
                "buffer_size",
                "the rows of a matrix lie one behind another; make it contiguous",
            ));
        }
        if !buffer.buf_ptr().addr().is_multiple_of(buffer.item_size()) {
            return Err(of_kind(
                "buffer_size",
                "the elements of a matrix lie at multiples of their size; copy it",
            ));
        }
        Ok(Matrix {
            buffer,
            rows,
            columns,
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of elements that a row has.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn item_size(&self) -> usize {
        self.buffer.item_size()
    }

    /// The place of a row.
    ///
    /// # Errors
    ///
    /// A `TokenmoldError` (`buffer_size`): there is no such row.
    pub(crate) fn row<T: Element>(&self, row: usize) -> PyResult<Row<'_, T>> {
        if row >= self.rows {
            return Err(of_kind(
                "buffer_size",
                format!("there is no row {row}: the matrix has {}", self.rows),
            ));
        }
        if size_of::<T>() != self.item_size() {
            return Err(PyTypeError::new_err("elements of another size"));
        }
        let base = self.buffer.buf_ptr().cast::<T>();
        // SAFETY: the buffer is C-contiguous, has `rows * columns` elements of `T`'s size, and
        // `row < rows`: the place is inside of it, or at its end where rows are empty.
        let first = unsafe { base.add(row * self.columns) };
        Ok(Row {
            first,
            length: self.columns,
            _matrix: std::marker::PhantomData,
        })
    }
}

/// Elements that any bits are a value of.
pub(crate) trait Element: Copy {}
impl Element for u16 {}
impl Element for u32 {}
impl Element for u64 {}

/// A row of a [`Matrix`], which lies still as long as the matrix lives.
///
/// Whoever made the matrix must not read or write it elsewhere while a call of this library
/// does: the same holds for every function of NumPy that gives the lock up.
pub(crate) struct Row<'m, T> {
    first: *mut T,
    length: usize,
    _matrix: std::marker::PhantomData<&'m Matrix>,
}

// SAFETY: it is the only way of this library to its row: callers take each row of a matrix
// once. The memory itself is bound to no thread.
unsafe impl<T: Send> Send for Row<'_, T> {}

impl<T: Element> Row<'_, T> {
    /// The elements.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: the buffer, which is exported and so lies still, has `length` elements from
        // `first` on. They are aligned, which was looked at, and initialised; any bits are a
        // value, and nothing else in this library has them.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.length) }
    }
}

/// An array of NumPy's over the memory of a tensor.
fn array_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if let Some(to_array) = object.getattr_opt(intern!(py, "numpy"))? {
        return to_array.call0();
    }
    if object.hasattr(intern!(py, "__dlpack__"))? {
        return object
            .py()
            .import("numpy")?
            .call_method1("from_dlpack", (object,));
    }
    let name = object.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{name} has no memory that can be written here: pass an array of NumPy's, a tensor on \
         the CPU, or anything with the buffer protocol"
    )))
}

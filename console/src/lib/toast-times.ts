/** How long a toast is shown, in milliseconds. */
export const toastMs = { plain: 4_000, withUndo: 12_000 }

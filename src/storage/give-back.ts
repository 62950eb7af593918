/**
 * Frees the memory of bytes that have a buffer to themselves and are nobody's afterwards. Megabytes of an export are
 * garbage as soon as they are sent, and hardly anything else that it makes would let the collector look for them.
 */
export const giveBack = ({ buffer }: ArrayBufferView) => {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

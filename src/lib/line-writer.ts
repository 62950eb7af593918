/** Writes the lines of one turn of the event loop together. `flush` writes at once. */
export const createLineWriter = (write: (text: string) => void) => {
  let lines = ''

  const flush = () => {
    if (lines === '') return
    const text = lines
    lines = ''
    write(text)
  }

  return {
    add(line: string) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
    flush,
  }
}

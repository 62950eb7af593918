/**
 * Lines that come within one turn of the event loop are written together: with a line for each request, writing each by
 * itself would cost more than all else that is told of it. `flush` writes what is there now.
 */
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

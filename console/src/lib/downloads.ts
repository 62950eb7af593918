/** Progress of a download. */
export interface Downloading {
  signal: AbortSignal
  onBytes: (bytes: number) => void
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>

interface Picker {
  showSaveFilePicker(options: { suggestedName: string }): Promise<FileSystemFileHandle>
}

const hasPicker = (window: object): window is Picker => 'showSaveFilePicker' in window

const counted = (bytes: Bytes, { onBytes }: Downloading): Bytes => {
  let sum = 0
  const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, out) {
      sum += chunk.byteLength
      onBytes(sum)
      out.enqueue(chunk)
    },
  })
  return bytes.pipeThrough(counting)
}

const handOver = (name: string, file: Blob) => {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

const isOneNobodyWants = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'

/**
 * Saves a response as a file: directly to disk in browsers that allow it, otherwise as a download. Returns
 * whether it was saved; the user may cancel the dialog.
 */
export const saveFile = async (
  name: string,
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
  downloading: Downloading,
): Promise<boolean> => {
  const { signal } = downloading
  try {
    const place = hasPicker(window) ? await window.showSaveFilePicker({ suggestedName: name }) : undefined
    const bytes = counted((await open(signal)) as Bytes, downloading)
    if (place) await bytes.pipeTo(await place.createWritable(), { signal })
    else handOver(name, await new Response(bytes).blob())
    return true
  } catch (error) {
    if (isOneNobodyWants(error)) return false
    throw error
  }
}

import { isBase64 } from './base64.ts'
import { imageTypeOf, isIcon } from './image-type.ts'

const dataUrl = /^data:[^,]+;base64,/

/** Undefined: no picture, whatever the URL claims. */
export const pictureIn = (text: string): { bytes: Buffer; contentType: string } | undefined => {
  const [head] = dataUrl.exec(text) ?? []
  const encoded = head && text.slice(head.length)
  if (!encoded || !isBase64(encoded)) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  const contentType = imageTypeOf(bytes) ?? (isIcon(bytes) ? 'image/x-icon' : undefined)
  return contentType === undefined ? undefined : { bytes, contentType }
}

import type { MantineColorsTuple } from '@mantine/core'

const mix = (color: readonly number[], other: number, share: number) =>
  color.map((part) => Math.round(part + (other - part) * share))

const hexOf = (parts: readonly number[]) =>
  `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`

const partsOf = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))

/** Ten shades of a brand's colour, from nearly white to dark; the seventh is the colour itself. */
export const generateColors = (hex: string): MantineColorsTuple => {
  const color = partsOf(hex)
  const lighter = (share: number) => hexOf(mix(color, 255, share))
  const darker = (share: number) => hexOf(mix(color, 0, share))
  return [
    lighter(0.92),
    lighter(0.82),
    lighter(0.66),
    lighter(0.5),
    lighter(0.34),
    lighter(0.17),
    hex,
    darker(0.1),
    darker(0.2),
    darker(0.35),
  ]
}

// A line chart over time as SVG, for long measurements.

export interface Line {
  name: string
  /** One for each moment, in the unit of the panel. */
  values: readonly number[]
}

export interface Panel {
  title: string
  unit: string
  lines: readonly Line[]
}

const width = 900
const panelHeight = 220
const margin = { left: 70, right: 190, top: 40, bottom: 36 }
// Dashes distinguish the lines without colour.
const strokes = [
  { colour: '#1f5fa8', dashes: '' },
  { colour: '#b3541e', dashes: '6 3' },
  { colour: '#3d7a3d', dashes: '2 3' },
  { colour: '#7a3d7a', dashes: '8 3 2 3' },
]

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The next of 1, 2 and 5 times a power of ten. */
const roundedUp = (value: number) => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)))
  return ([1, 2, 5, 10].find((step) => step * power >= value) as number) * power
}

const text = (x: number, y: number, content: string, more = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(content)}</text>`

const panelSvg = ({ title, unit, lines }: Panel, minutes: readonly number[], top: number) => {
  const most = roundedUp(Math.max(...lines.flatMap(({ values }) => values), 0))
  const last = Math.max(minutes.at(-1) ?? 1, 1)
  const plot = { width: width - margin.left - margin.right, height: panelHeight - margin.top - margin.bottom }
  const x = (minute: number) => margin.left + (minute / last) * plot.width
  const y = (value: number) => top + margin.top + plot.height * (1 - value / most)
  const parts = [text(margin.left, top + 22, `${title} (${unit})`, 'font-weight="bold"')]
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const value = part * most
    const height = y(value).toFixed(1)
    parts.push(
      `<line x1="${margin.left}" x2="${margin.left + plot.width}" y1="${height}" y2="${height}" stroke="#ddd"/>`,
      text(margin.left - 8, y(value) + 4, String(Number(value.toPrecision(3))), 'text-anchor="end"'),
      text(
        x(part * last),
        top + panelHeight - 14,
        `${Number((part * last).toPrecision(3))}${part === 1 ? ' min' : ''}`,
        'text-anchor="middle"',
      ),
    )
  }
  for (const [index, { name, values }] of lines.entries()) {
    const { colour, dashes } = strokes[index % strokes.length] as (typeof strokes)[number]
    const points = values.map((value, at) => `${x(minutes[at] as number).toFixed(1)},${y(value).toFixed(1)}`)
    const stroke = `stroke="${colour}" stroke-width="1.5" stroke-dasharray="${dashes}"`
    const line = top + margin.top + 14 + index * 20
    const begin = margin.left + plot.width + 16
    parts.push(
      `<polyline fill="none" ${stroke} points="${points.join(' ')}"/>`,
      `<line x1="${begin}" x2="${begin + 24}" y1="${line - 4}" y2="${line - 4}" ${stroke}/>`,
      text(begin + 30, line, name),
    )
  }
  return parts.join('\n')
}

/** Panels one below the other; `minutes` are those of the values of all lines. */
export const chartOf = (title: string, minutes: readonly number[], panels: readonly Panel[]): string => {
  const height = 40 + panels.length * panelHeight
  const body = panels.map((panel, index) => panelSvg(panel, minutes, 40 + index * panelHeight))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    text(margin.left, 26, title, 'font-size="15"'),
    ...body,
    '</svg>\n',
  ].join('\n')
}

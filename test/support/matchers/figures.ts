/** One line of what `/metrics` answers. */
export interface Figure {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

const line = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/
const label = /(?<name>\w+)="(?<value>(?:[^"\\]|\\.)*)"/g

/** Reads the text format of Prometheus; a line that is none fails. */
export const figuresIn = (text: string): Figure[] =>
  text
    .split('\n')
    .filter((one) => one !== '' && !one.startsWith('#'))
    .map((one) => {
      const groups = line.exec(one)?.groups
      if (!groups) throw new Error(`no figure: ${one}`)
      const labels = [...(groups.labels ?? '').matchAll(label)].map(
        (found) => [found.groups?.name ?? '', found.groups?.value ?? ''] as const,
      )
      const value = groups.value === '+Inf' ? Number.POSITIVE_INFINITY : Number(groups.value)
      if (Number.isNaN(value) && groups.value !== 'NaN') throw new Error(`no number: ${one}`)
      return { name: groups.name ?? '', labels: Object.fromEntries(labels), value }
    })

/** The sum of the figures of a name that bear these labels; undefined when there is none. */
export const figureOf = (
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined => {
  const found = figuresIn(text).filter(
    (figure) =>
      figure.name === name && Object.entries(labels).every(([key, value]) => figure.labels[key] === value),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}

/** The families that a text declares, by name. */
export const familiesIn = (text: string) =>
  new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type] as const),
  )

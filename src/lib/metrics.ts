// Figures for whoever watches the server, as Prometheus reads them. Counting is an addition and no more: it is done in
// the way of every request. Gauges are read when somebody asks.

/** A number that only grows while the process lives. */
interface Counter {
  add(by?: number): void
}

interface Histogram {
  observe(value: number): void
}

/** The series of a family: one for each combination of label values, in the order of the family's label names. */
interface Family<Series> {
  of(...labels: readonly string[]): Series
}

export interface Reading {
  labels: readonly string[]
  value: number
}

interface Description {
  /** With its unit, and `_total` for counters. */
  name: string
  help: string
  /** Each has few values: whatever clients choose is never one. */
  labels?: readonly string[]
}

interface GaugeDescription extends Description {
  /** Each thread that answers requests has its own, which are added up; else they know the same, and the most counts. */
  isOfThread?: boolean
}

/** Name and labels of a series as they are written, and its value. */
type Sample = readonly [series: string, value: number]

interface Written extends Description {
  type: 'counter' | 'gauge' | 'histogram'
  isAdded: boolean
  samples(): Promise<readonly Sample[]> | readonly Sample[]
}

/** The figures of a moment, to be sent to another thread. */
export type Figures = readonly (Pick<Written, 'name' | 'help' | 'type' | 'isAdded'> & {
  samples: readonly Sample[]
})[]

export type Metrics = ReturnType<typeof createMetrics>

/** Bounds in seconds for what takes from a fraction of a millisecond to many seconds. */
export const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const labelled = (names: readonly string[], values: readonly string[], more = '') => {
  const pairs = names.map((name, at) => `${name}="${escaped(values[at] ?? '')}"`)
  const all = more ? [...pairs, more] : pairs
  return all.length === 0 ? '' : `{${all.join(',')}}`
}

const numberText = (value: number) => {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

/** One of each combination of label values, made when it is first asked for. */
const createSeries = <Series>(width: number, make: () => Series) => {
  const known = new Map<string, { labels: readonly string[]; series: Series }>()
  return {
    of(...labels: readonly string[]) {
      if (labels.length !== width) throw new Error('a series has a value for each label of its family')
      const key = labels.join('\0')
      const found = known.get(key) ?? { labels, series: make() }
      known.set(key, found)
      return found.series
    },
    all: () => [...known.values()],
  }
}

const createCounter = () => {
  const counter = {
    value: 0,
    add(by = 1) {
      counter.value += by
    },
  }
  return counter
}

const createHistogram = (bounds: readonly number[]) => {
  const counts = new Float64Array(bounds.length + 1)
  const histogram = {
    sum: 0,
    counts,
    observe(value: number) {
      let at = 0
      while (at < bounds.length && value > (bounds[at] as number)) at += 1
      counts[at] = (counts[at] as number) + 1
      histogram.sum += value
    },
  }
  return histogram
}

const histogramSamples = (
  { name, labels: names }: Required<Description>,
  bounds: readonly number[],
  { labels, series }: { labels: readonly string[]; series: ReturnType<typeof createHistogram> },
): Sample[] => {
  let below = 0
  const buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound, at): Sample => {
    below += series.counts[at] as number
    return [`${name}_bucket${labelled(names, labels, `le="${numberText(bound)}"`)}`, below]
  })
  const own = labelled(names, labels)
  return [...buckets, [`${name}_sum${own}`, series.sum], [`${name}_count${own}`, below]]
}

const addTo = (sums: Map<string, number>, samples: readonly Sample[], isAdded: boolean) => {
  for (const [series, value] of samples) {
    const before = sums.get(series)
    if (before === undefined) sums.set(series, value)
    else sums.set(series, isAdded ? before + value : Math.max(before, value))
  }
}

/** The figures of all threads as those of one, in the text format 0.0.4 of Prometheus. */
export const figuresText = (all: readonly Figures[]): string => {
  const families = new Map<string, { family: Figures[number]; sums: Map<string, number> }>()
  for (const family of all.flat()) {
    const known = families.get(family.name) ?? { family, sums: new Map<string, number>() }
    addTo(known.sums, family.samples, family.isAdded)
    families.set(family.name, known)
  }
  const lines = [...families.values()].flatMap(({ family: { name, help, type }, sums }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...Array.from(sums, ([series, value]) => `${series} ${numberText(value)}`),
  ])
  return `${lines.join('\n')}\n`
}

/** Everything that a server tells of itself. */
export const createMetrics = () => {
  const families = new Map<string, Written>()

  const add = (
    { name, help, labels = [] }: Description,
    kind: Pick<Written, 'type' | 'isAdded'>,
    samples: (description: Required<Description>) => Promise<readonly Sample[]> | readonly Sample[],
  ) => {
    if (families.has(name)) throw new Error(`two metrics are called ${name}`)
    families.set(name, { name, help, ...kind, samples: () => samples({ name, help, labels }) })
  }

  const counter = { type: 'counter', isAdded: true } as const

  return {
    counter(description: Description): Family<Counter> {
      const { of, all } = createSeries(description.labels?.length ?? 0, createCounter)
      add(description, counter, ({ name, labels: names }) =>
        all().map(({ labels, series }): Sample => [`${name}${labelled(names, labels)}`, series.value]),
      )
      return { of }
    },

    histogram(description: Description & { bounds: readonly number[] }): Family<Histogram> {
      const { bounds } = description
      const { of, all } = createSeries(description.labels?.length ?? 0, () => createHistogram(bounds))
      add(description, { type: 'histogram', isAdded: true }, (own) =>
        all().flatMap((one) => histogramSamples(own, bounds, one)),
      )
      return { of }
    },

    /** What is counted elsewhere is read when somebody asks. `read` answers at once, or within moments. */
    gauge(
      description: GaugeDescription,
      read: () => number | readonly Reading[] | Promise<readonly Reading[]>,
    ) {
      const isAdded = description.isOfThread === true
      add(description, { type: 'gauge', isAdded }, async ({ name, labels: names }) => {
        const found = await read()
        const readings = typeof found === 'number' ? [{ labels: [], value: found }] : found
        return readings.map(({ labels, value }): Sample => [`${name}${labelled(names, labels)}`, value])
      })
    },

    /** The same for what only grows. */
    counted(description: Description, read: () => readonly Reading[]) {
      add(description, counter, ({ name, labels: names }) =>
        read().map(({ labels, value }): Sample => [`${name}${labelled(names, labels)}`, value]),
      )
    },

    /** All of it. A gauge that cannot be read is left out. */
    figures: (): Promise<Figures> =>
      Promise.all(
        Array.from(families.values(), async ({ name, help, type, isAdded, samples }) => ({
          name,
          help,
          type,
          isAdded,
          samples: await Promise.resolve(samples()).catch(() => []),
        })),
      ),
  }
}

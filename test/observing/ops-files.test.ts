// What operators are given for Prometheus and Grafana names figures that a server shows.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { familiesIn } from '../support/figures.ts'
import { lacks } from '../support/installed.ts'
import { describeEngines, useWorld } from '../support/world.ts'

const folder = join(import.meta.dirname, '../../ops')
const rulesFile = join(folder, 'prometheus/crosspoint.rules.yml')
const rules = readFileSync(rulesFile, 'utf8')

interface Dashboard {
  panels: { id: number; title: string; targets: { expr: string }[] }[]
}

const dashboard = JSON.parse(readFileSync(join(folder, 'grafana/crosspoint.json'), 'utf8')) as Dashboard

/** The names of figures in an expression, with the label names that it asks them for. */
const askedIn = (expression: string) =>
  [...expression.matchAll(/\b((?:crosspoint|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => ({
      name,
      labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  )

const suffixes = { histogram: ['_bucket', '_sum', '_count'], counter: [''], gauge: [''], summary: [''] }
// Prometheus itself adds these to whatever it reads.
const ofPrometheus = ['instance', 'job']

describeEngines('the files for Prometheus and Grafana', (engine) => {
  const world = useWorld(engine)

  it('name figures and labels that the server shows', async () => {
    const { text } = await world.anonymous.get('/metrics')
    const shown = new Map(
      [...familiesIn(text)].flatMap(([name, type]) =>
        (suffixes[type as keyof typeof suffixes] ?? ['']).map((suffix) => [name + suffix, name] as const),
      ),
    )
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/observing.md'), 'utf8')
    const labelsOf = (family: string) => {
      const [, cell = ''] = new RegExp(`^\\| \`${family}\` \\| \\w+ \\| ([^|]*)\\|`, 'm').exec(guide) ?? []
      return [...cell.replaceAll(/\([^)]*\)/g, '').matchAll(/`(\w+)`/g)].map(([, label = '']) => label)
    }
    const expressions = [rules, ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))]
    const asked = expressions.flatMap(askedIn)
    expect(asked.length).toBeGreaterThan(40)
    for (const { name, labels } of asked) {
      expect([...shown.keys()]).toContain(name)
      const known = [...labelsOf(shown.get(name) ?? ''), ...ofPrometheus]
      for (const label of labels) expect(known, `${name}{${label}}`).toContain(label)
    }
  })

  it('leave no figure of ours unseen', async () => {
    const { text } = await world.anonymous.get('/metrics')
    const all = rules + JSON.stringify(dashboard)
    // Turns of long work are of use to whoever looks for a fault, and the backlog of mail is one of many.
    const unseen = [
      'crosspoint_task_turns_total',
      'crosspoint_migration_turns_total',
      'crosspoint_jobs_waiting',
    ]
    const own = [...familiesIn(text).keys()].filter((name) => name.startsWith('crosspoint_'))
    expect(own.filter((name) => !all.includes(name)).toSorted()).toEqual(unseen.toSorted())
  })
})

it('has panels that are one each', () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  expect(dashboard.panels.every(({ title, targets }) => title && targets.length > 0)).toBe(true)
})

const lacking = lacks('promtool')

it.skipIf(lacking)(`has alert rules that promtool takes${lacking}`, () => {
  expect(execFileSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' })).toContain('SUCCESS')
})

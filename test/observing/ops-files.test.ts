// The files for Prometheus and Grafana name only metrics that a server exports.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { familiesIn } from '../support/matchers/figures.ts'
import { lacks } from '../support/servers/installed.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const folder = join(import.meta.dirname, '../../ops')
const rulesFile = join(folder, 'prometheus/crosspoint.rules.yml')
const rules = readFileSync(rulesFile, 'utf8')

interface Dashboard {
  panels: { id: number; title: string; targets: { expr: string }[] }[]
}

const dashboard = JSON.parse(readFileSync(join(folder, 'grafana/crosspoint.json'), 'utf8')) as Dashboard

/** Metric names in an expression, with their label names. */
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

describeAnyEngine('the files for Prometheus and Grafana', (engine) => {
  const world = useWorld(engine)

  it('name figures and labels that the server shows', async () => {
    const { text } = await world.anonymous.get('/metrics')
    const shown = new Map(
      [...familiesIn(text)].flatMap(([name, type]) =>
        (suffixes[type as keyof typeof suffixes] ?? ['']).map((suffix) => [name + suffix, name] as const),
      ),
    )
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/monitoring.md'), 'utf8')
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
    // Turns of long work help to find a fault, and the backlog of mail is one of many.
    const unseen = [
      'crosspoint_task_batches_total',
      'crosspoint_migration_batches_total',
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

const seconds = 'crosspoint_http_request_duration_seconds'
const commitSeconds = 'crosspoint_store_commit_duration_seconds_bucket'
const calls = 'crosspoint_outgoing_request_duration_seconds_count'

/** Each alert with the figures of a server that it is for and of one that it is not for, as promtool writes rows: start+step. */
const figuresOfAlerts: Readonly<Record<string, readonly { figure: string; bad: string; good: string }[]>> = {
  CrosspointDown: [{ figure: 'up{job="crosspoint",instance="a"}', bad: '0+0', good: '1+0' }],
  CrosspointServerErrors: [
    { figure: `${seconds}_count{instance="a",status="200"}`, bad: '0+90', good: '0+1000' },
    { figure: `${seconds}_count{instance="a",status="503"}`, bad: '0+10', good: '0+1' },
  ],
  CrosspointSlow: [
    { figure: `${seconds}_bucket{instance="a",route="/v2",le="1"}`, bad: '0+90', good: '0+100' },
    { figure: `${seconds}_bucket{instance="a",route="/v2",le="5"}`, bad: '0+100', good: '0+100' },
    { figure: `${seconds}_bucket{instance="a",route="/v2",le="+Inf"}`, bad: '0+100', good: '0+100' },
  ],
  CrosspointStoreOutage: [{ figure: 'crosspoint_store_outages_total', bad: '0+1', good: '1+0' }],
  CrosspointCommitsSlow: [
    { figure: `${commitSeconds}{instance="a",le="0.5"}`, bad: '0+90', good: '0+100' },
    { figure: `${commitSeconds}{instance="a",le="1"}`, bad: '0+100', good: '0+100' },
    { figure: `${commitSeconds}{instance="a",le="+Inf"}`, bad: '0+100', good: '0+100' },
  ],
  CrosspointWritesWaiting: [{ figure: 'crosspoint_store_writes_waiting', bad: '501+0', good: '500+0' }],
  CrosspointJobsLate: [
    { figure: 'crosspoint_jobs_oldest_age_seconds{queue="mail"}', bad: '901+0', good: '900+0' },
  ],
  CrosspointJobsFailing: [
    { figure: 'crosspoint_jobs_attempts_total{queue="mail",state="failed"}', bad: '0+1', good: '1+0' },
  ],
  CrosspointMailGivenUp: [
    { figure: 'crosspoint_mail_attempts_total{outcome="given_up"}', bad: '0+1', good: '1+0' },
  ],
  CrosspointOutsideFailing: [
    { figure: `${calls}{purpose="bookkeeper",outcome="2xx"}`, bad: '0+70', good: '0+90' },
    { figure: `${calls}{purpose="bookkeeper",outcome="timeout"}`, bad: '0+30', good: '0+10' },
  ],
  CrosspointCallRecordsRejected: [
    { figure: 'crosspoint_call_records_total{source="api",outcome="rejected"}', bad: '0+1', good: '1+0' },
  ],
  CrosspointCallArchiveFailing: [
    { figure: 'crosspoint_call_archive_failures_total', bad: '0+1', good: '1+0' },
  ],
  CrosspointCallRecordsMissing: [
    { figure: 'crosspoint_call_archive_records_missing_total', bad: '0+1', good: '1+0' },
  ],
  CrosspointSipEdgeUnreachable: [
    { figure: 'crosspoint_sip_edges{state="unreachable"}', bad: '1+0', good: '0+0' },
  ],
  CrosspointSignInsRefused: [{ figure: 'crosspoint_password_hash_rejected_total', bad: '0+1', good: '1+0' }],
  CrosspointEventLoopSlow: [
    { figure: 'nodejs_eventloop_lag_p99_seconds{job="crosspoint"}', bad: '0.3+0', good: '0.1+0' },
  ],
}

const alertNames = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name = '']) => name)

/** The alerts that promtool must find after half an hour of such figures, a sample a minute. */
const trial = (kind: 'bad' | 'good', firing: readonly string[]) => ({
  interval: '1m',
  input_series: Object.values(figuresOfAlerts)
    .flat()
    .map((row) => ({ series: row.figure, values: `${row[kind]}x30` })),
  promql_expr_test: [
    {
      expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: '30m',
      exp_samples: firing.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
    },
  ],
})

it.skipIf(lacking)(`has alerts that each come when they should, and not before${lacking}`, () => {
  expect(Object.keys(figuresOfAlerts)).toEqual(alertNames)
  const place = mkdtempSync(join(tmpdir(), 'crosspoint-rules-'))
  const file = join(place, 'trials.yml')
  const tests = [trial('bad', alertNames), trial('good', [])]
  // JSON is a part of YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }))
  try {
    expect(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS')
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

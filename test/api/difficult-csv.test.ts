// The CSV files of test/data/csv, as rates to import: each with its rates, the errors of its rows, or the reason why it is refused.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { finishTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

/** By file name, which is the ratedeck of its rows. */
interface Outcome {
  /** [prefix, cost, description] of each rate, by prefix. */
  rates?: [number, number, string | null][]
  /** The last cell of each line of the output, which has the rows that failed. */
  errors?: string[]
  refused?: string
}

const folder = new URL('../data/csv/', import.meta.url)
const outcomes: Record<string, Outcome> = JSON.parse(readFileSync(new URL('outcomes.json', folder), 'utf8'))

describeAnyEngine('A difficult CSV file', (engine) => {
  const world = useWorld(engine)
  const tasks = () => `${world.master.path}/tasks`

  const send = (name: string) =>
    world.operator.put(tasks(), undefined, {
      query: { category: 'rates', action: 'import' },
      body: readFileSync(new URL(`${name}.csv`, folder)),
      headers: { 'content-type': 'text/csv' },
    })

  const ratesOf = async (ratedeck_id: string) => {
    const { data } = await world.operator.get('/v2/rates', { query: { ratedeck_id } })
    const found = await Promise.all(
      data.map(async ({ id }: { id: string }) => (await world.operator.get(`/v2/rates/${id}`)).data),
    )
    const sorted = found.toSorted((a, b) => a.prefix - b.prefix)
    return sorted.map(({ prefix, rate_cost, description = null }) => [prefix, rate_cost, description])
  }

  it.each(Object.entries(outcomes))(
    'has its outcome: %s',
    async (name, { rates = [], errors = [], refused }) => {
      if (refused !== undefined) {
        const answer = await world.unchanged(() => send(name))
        // As Kazoo answers a CSV that it cannot take.
        expect(answer.status).toBe(500)
        expect(answer.text).toContain(refused)
        return
      }
      const made = await send(name)
      expect(made).toSucceed()
      const { output } = await finishTask(world.operator, `${tasks()}/${made.body.metadata.id}`)
      expect(output.slice(1).map((line) => line.split(',').at(-1))).toEqual(errors)
      expect(await ratesOf(name)).toEqual(rates)
    },
  )

  it('is none of this folder without an outcome', () => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.csv'))
    expect(files.toSorted()).toEqual(
      Object.keys(outcomes)
        .map((name) => `${name}.csv`)
        .toSorted(),
    )
  })
})

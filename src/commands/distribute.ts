import { configFromEnvironment } from '../config/env.ts'
import { distributeStorage, type Placed } from '../storage/distribution/distribute.ts'
import { connectTo, runnerOn } from '../storage/postgres-dump.ts'
import { Refusal } from '../storage/saved-store.ts'
import { print } from './output.ts'

const outcomeTexts: Record<Placed['outcome'], string> = {
  distributed: 'distributed by account_id',
  distributed_before: 'already distributed',
  at_coordinator: 'stays on the coordinator',
}

export const distribute = async ({ json }: { json?: boolean }) => {
  const { databaseUrl } = configFromEnvironment()
  if (!databaseUrl) throw new Refusal('the embedded store cannot be distributed: use PostgreSQL with Citus')
  const client = await connectTo(databaseUrl)
  const placed: Placed[] = []
  try {
    await distributeStorage(runnerOn(client), (one) => {
      placed.push(one)
      if (!json) print(`${one.table}: ${outcomeTexts[one.outcome]}`)
    })
  } finally {
    await client.end()
  }
  if (json) print(JSON.stringify({ tables: placed }))
}

import type { Database, Value } from '../../../src/storage/db.ts'

/** The query plan of a statement. */
export const planOf = async (db: Database, sql: string, params: readonly Value[] = []): Promise<string> => {
  const explain = db.engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
  const steps = await db.scan<Record<string, string>>(`${explain} ${sql}`, params)
  return steps.map((step) => step.detail ?? step['QUERY PLAN']).join('\n')
}

import { expect, it } from 'vitest'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'
import { openNotes } from '../support/notes.ts'

const rounds = 150

describeEngines('commits', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      return { db, other: reopen(), ...openNotes(db, clock), close }
    },
    ({ close }) => close(),
  )

  const titleAtOther = async (id: string) => {
    const [row] = await world.other.all<{ doc: string }>('SELECT doc FROM records WHERE id = $1', [id])
    return JSON.parse(row?.doc ?? '{}').title as string
  }

  it('that others have read already are read by whoever made them, also before they are told of', async () => {
    let note = await world.add('a', { title: 'first' })
    for (let round = 0; round < rounds; round += 1) {
      await world.notes.get('a', note.id)
      const title = `round ${round}`
      const change = world.change(note, { title })
      while ((await titleAtOther(note.id)) !== title);
      await world.db.fence()
      const found = await world.notes.get('a', note.id)
      expect(found.doc.title).toBe(title)
      note = await change
    }
  })
})

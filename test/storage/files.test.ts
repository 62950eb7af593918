import { expect, it } from 'vitest'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createFiles } from '../../src/storage/files.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('files in the store', (engine) => {
  const world = useWorld(engine)

  it('take as much memory as they have bytes, however small they are', async () => {
    const { store } = world.server
    const files = createFiles(store, 'user_photo')
    for (const size of [1, 17, 300, 70_000]) {
      const content = { contentType: 'image/png', bytes: Buffer.alloc(size, 'x') }
      const set = new ChangeSet({ requestId: 'files' })
      const place = { accountId: world.acme.id, id: String(size).padStart(32, '0') }
      const file = await files.put(set, place, content)
      await store.commit(set)
      const { bytes } = files.contentOf(file)
      expect(bytes).toEqual(content.bytes)
      // The runtime's pool would lend a part of 64 kB, and keep all of it for that long.
      expect(bytes.buffer.byteLength).toBeLessThanOrEqual(size + 2)
      expect(files.contentOf(file).bytes).toBe(bytes)
    }
  })
})

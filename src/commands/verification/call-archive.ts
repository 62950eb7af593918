import { digestOfObject } from '../../areas/calls/cdrs/archive/operations.ts'
import type { FileRow } from '../../areas/calls/cdrs/archive/store.ts'
import { createArchiveRegister } from '../../areas/calls/cdrs/archive/store.ts'
import type { Check } from '../../lib/check.ts'
import { messageOfReading } from '../../lib/error-facts.ts'
import type { ObjectStore } from '../../object-store/object-store.ts'
import type { Store } from '../../storage/store.ts'
/** Checks that the files of older call records exist and are unchanged. */
export const checkCallArchive = (store: Store, objects: ObjectStore): Check => {
  const register = createArchiveRegister(store)

  const faultOf = async ({ path, bytes, digest, records, departures }: FileRow) => {
    try {
      const found = await digestOfObject(objects, path, bytes)
      if (found === undefined) return `it does not exist or does not have ${bytes} bytes`
      if (found !== digest) return 'its content was changed'
    } catch (error) {
      return `it cannot be read: ${messageOfReading(error)}`
    }
    const counted = await register.countIn(path)
    if (departures === 0 && counted !== records)
      return `it contains ${records} records, but its accounts count ${counted}`
    return undefined
  }

  return {
    name: 'call archive',
    async run(tell) {
      const files = await register.live()
      for (const file of files) {
        const reason = await faultOf(file)
        if (reason !== undefined) tell({ place: `file ${file.path}`, reason })
      }
      return files.length
    },
  }
}

/** Checks that the files of older call records exist and are unchanged. */
export const checkCallArchive = (store: Store, objects: ObjectStore): Check => {
  const register = createArchiveRegister(store)

  const faultOf = async ({ path, bytes, digest, records, departures }: FileRow) => {
    try {
      const found = await digestOfObject(objects, path, bytes)
      if (found === undefined) return `it is not there, or has not ${bytes} bytes`
      if (found !== digest) return 'it is not what was written'
    } catch (error) {
      return `it cannot be read: ${messageOfReading(error)}`
    }
    const counted = await register.countIn(path)
    if (departures === 0 && counted !== records)
      return `it holds ${records} records, those of its accounts are ${counted}`
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

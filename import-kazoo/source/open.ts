import { isAddress, placeOf } from './address.ts'
import { type Patience, usualPatience } from './connection.ts'
import { openCouchdb } from './couchdb.ts'
import { openDump } from './dumps/dump.ts'
import { joinSources } from './several.ts'
import { type Source, SourceTrouble } from './source.ts'

export interface SourceOptions {
  /** Further ones, `NAME=ADDRESS` or `NAME=PATH`, for what a storage plan keeps elsewhere. */
  further?: readonly string[]
  /** How long faults are borne. */
  patience?: Partial<Patience>
}

const openOne = (text: string, patience: Patience) =>
  isAddress(text) ? openCouchdb(placeOf(text), patience) : openDump(text)

const namedIn = (text: string) => {
  const [, name, place] = /^([\w.-]+)=(.+)$/s.exec(text) ?? []
  if (name === undefined || place === undefined)
    throw new SourceTrouble('a further source is given as NAME=ADDRESS or NAME=PATH')
  return { name, place }
}

/** What documents are read from: the address of a CouchDB, or the path of a dump. Fails with SourceTrouble. */
export const openSource = async (
  text: string,
  { further = [], patience }: SourceOptions = {},
): Promise<Source> => {
  const waiting = { ...usualPatience, ...patience }
  const places = [{ name: 'main', place: text }, ...further.map(namedIn)]
  const opened: { name: string; source: Source }[] = []
  try {
    for (const { name, place } of places) opened.push({ name, source: await openOne(place, waiting) })
  } catch (error) {
    for (const { source } of opened) await source.close()
    throw error
  }
  return joinSources(opened)
}

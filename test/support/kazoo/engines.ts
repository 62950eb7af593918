// How BigCouch and the versions of CouchDB differ in what they answer.

export interface EngineManners {
  title: string
  /** Response of `GET /`. */
  welcome: object
  /** The form of a sequence number in this engine. */
  sequence(number: number): unknown
  /** The sequence number in `since`; undefined: this engine rejects the text. */
  sequenceIn(since: string): number | undefined
  hasBytesInLists: boolean
  tellsPending: boolean
  isClustered: boolean
  sizes(bytes: number): object
}

const opaque = (number: number) => `g1AAAA${Buffer.from(String(number)).toString('base64url')}`

const numberIn = (text: string) => {
  if (text === '0') return 0
  const [, encoded] = /g1AAAA([\w-]+)$/.exec(text) ?? []
  return encoded === undefined ? undefined : Number(Buffer.from(encoded, 'base64url').toString())
}

const clustered = (version: string): EngineManners => ({
  title: `CouchDB/${version}`,
  welcome: { couchdb: 'Welcome', version, features: [], vendor: { name: 'The Apache Software Foundation' } },
  sequence: (number) => `${number}-${opaque(number)}`,
  sequenceIn: numberIn,
  hasBytesInLists: true,
  tellsPending: true,
  isClustered: true,
  sizes: (bytes) => ({ sizes: { file: bytes * 2, external: bytes, active: bytes } }),
})

export const engines = {
  bigcouch: {
    title: 'CouchDB/1.1.1',
    welcome: { couchdb: 'Welcome', version: '1.1.1', bigcouch: '0.4.2' },
    sequence: (number) => [number, opaque(number)],
    sequenceIn: numberIn,
    hasBytesInLists: false,
    tellsPending: false,
    isClustered: false,
    sizes: (bytes) => ({ disk_size: bytes * 2, other: { data_size: bytes } }),
  },
  couchdb1: {
    title: 'CouchDB/1.6.1',
    welcome: { couchdb: 'Welcome', version: '1.6.1', vendor: { name: 'The Apache Software Foundation' } },
    sequence: (number) => number,
    sequenceIn: (since) => (/^\d+$/.test(since) ? Number(since) : undefined),
    hasBytesInLists: true,
    tellsPending: false,
    isClustered: false,
    sizes: (bytes) => ({ disk_size: bytes * 2, data_size: bytes }),
  },
  couchdb2: clustered('2.3.1'),
  couchdb3: clustered('3.3.3'),
} satisfies Record<string, EngineManners>

export type Engine = keyof typeof engines

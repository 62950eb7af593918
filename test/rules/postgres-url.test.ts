import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { eachHostOf, hostIn, mistakeInPostgresUrl } from '../../src/lib/postgres-url.ts'

describe('an address of PostgreSQL', () => {
  it.each([
    'postgres://crosspoint:secret@db.internal/crosspoint',
    'postgresql://u@127.0.0.1:5432/name?sslmode=verify-full',
    'postgres://u:p%40w@a:5432,b:5433/name',
    'postgres://u@a,b,[::1]:5432/name?target_session_attrs=read-write',
    'postgres://u@/name?host=/var/run/postgresql',
    'postgres:///name',
    'postgres://u:100%w@db/name',
    'postgres://u:p@w@db/name',
  ])('may be %s', (url) => {
    expect(mistakeInPostgresUrl(url)).toBeUndefined()
  })

  it.each([
    ['mysql://u@a/name', 'must be a URL that begins with postgres://'],
    ['postgres', 'must be a URL that begins with postgres://'],
    ['postgres://u:secret@a,,b/name', 'contains an empty host: postgres://user@a:5432,b:5432/name'],
    ['postgres://u:secret@a:,b/name', 'contains the invalid host "a:": write host, host:port or [IPv6]:port'],
    [
      'postgres://u:secret@::1,b/name',
      'contains the invalid host "::1": write host, host:port or [IPv6]:port',
    ],
    ['postgres://u:secret@a:70000,b/name', 'contains the invalid port 70000 of "a:70000": use 1 to 65535'],
    ['postgres://u:secret@a:5432,b,a:5432/name', 'contains the host "a:5432" twice'],
    [
      'postgres://u:secret@/name?host=a,b',
      'contains several hosts in "host": write them before the name, postgres://user@a:5432,b:5432/name',
    ],
    [
      'postgres://u:secret@a,b/name?target_session_attrs=any',
      'contains target_session_attrs=any: remove it, the server always uses the primary',
    ],
    [
      'postgres://crosspoint:sec/secret@db/name',
      'contains an @ after its hosts: write / ? # @ in user, password and options as %2F %3F %23 %40',
    ],
    [
      'postgres://crosspoint:sec?secret@db/name',
      'contains an @ after its hosts: write / ? # @ in user, password and options as %2F %3F %23 %40',
    ],
    [
      'postgres://me@srv:sec#secret@db/name',
      'contains an @ after its hosts: write / ? # @ in user, password and options as %2F %3F %23 %40',
    ],
    [
      'postgres://u:secret@@@',
      'cannot be read: write it as postgres://user:password@host:5432/name, with / ? # @ % in user and password as %2F %3F %23 %40 %25',
    ],
    [
      'postgres://u@db/name?password=secret',
      'contains a password in its options: write it after the user, user:password@host',
    ],
  ])('is refused as %s, without showing its password', (url, mistake) => {
    expect(mistakeInPostgresUrl(url)).toBe(mistake)
    expect(mistake).not.toContain('secret')
  })

  it('that is accepted can be read by the driver, whatever it consists of', () => {
    const users = ['', '@', 'u@', 'u:p@', 'u:p@@@', 'u:p%@', 'u:%e9@', 'u:%zz@', 'u:p w@', ':@', 'u:é@']
    const hosts = ['', 'h', 'h:5432', 'a,b', '[::1]', 'a..b', 'h%', 'h%41', '[zz]', '127.1', '_']
    const ends = ['', '/', '/n', '/n%', '/%e9', '/n?host=/run', '/n?x=%', '?x', '#x', '/n m']
    const addresses = users.flatMap((user) =>
      hosts.flatMap((host) => ends.map((end) => `postgres://${user}${host}${end}`)),
    )
    const accepted = addresses.filter((address) => mistakeInPostgresUrl(address) === undefined)
    for (const address of accepted)
      for (const one of eachHostOf(address))
        expect(() => new pg.Client({ connectionString: one }), address).not.toThrow()
    expect(accepted.length).toBeGreaterThan(100)
  })

  it('leads to each of its hosts with the same user, name and options', () => {
    const each = eachHostOf('postgres://u:p@w@a:5432,[::1]:5433,c/name?sslmode=disable')
    expect(each).toEqual([
      'postgres://u:p@w@a:5432/name?sslmode=disable',
      'postgres://u:p@w@[::1]:5433/name?sslmode=disable',
      'postgres://u:p@w@c/name?sslmode=disable',
    ])
    expect(each.map(hostIn)).toEqual(['a:5432', '[::1]:5433', 'c'])
  })
})

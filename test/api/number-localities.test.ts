import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { environmentOf, runHere } from '../support/run/command-here.ts'
import { stockNumbers } from '../support/world/number-stock.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const sample = new URL('../data/localities.csv', import.meta.url).pathname
const header = 'prefix,country,region,city,rate_center,lata,latitude,longitude'

describeEngines('the localities of an operator', (engine) => {
  const world = useWorld(engine)
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'crosspoint-csv-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const run = (...args: string[]) => runHere(environmentOf(world.place), ['numbers', ...args])

  const importSample = async () => {
    expect(await run('localities', 'import', sample)).toMatchObject({ status: 0, errors: '' })
  }

  const fileWith = async (...lines: string[]) => {
    const file = join(folder, 'file.csv')
    await writeFile(file, lines.join('\n'))
    return file
  }

  const cities = (city: string) =>
    world.ada.get(`${world.acme.path}/phone_numbers/prefix`, { query: { city } })
  const locality = (...numbers: string[]) =>
    world.ada.post(`${world.acme.path}/phone_numbers/locality`, { numbers })

  it('are imported from a CSV while the server runs', async () => {
    expect(await run('localities', 'import', sample)).toEqual({
      status: 0,
      output: '10 localities imported; 0 lines skipped\n',
      errors: '',
    })
    const audited = await world.server.store.all(
      "SELECT action, after_doc FROM audit_log WHERE account_id = 'system' AND kind = 'localities'",
    )
    expect(audited.map(({ action }) => action)).toContain('created')
    expect(audited).toContainEqual(
      expect.objectContaining({ after_doc: expect.stringContaining('"rows":10') }),
    )
  })

  it('tell the prefixes of the cities that a name begins', async () => {
    await importSample()
    expect(await cities('san')).toSucceedWith({
      'San Francisco': { state: 'CA', prefixes: ['628', '415'].sort() },
      'San Rafael': { state: 'CA', prefixes: ['415'] },
    })
    expect(await cities('San Francisco')).toSucceedWith({
      'San Francisco': { state: 'CA', prefixes: ['415', '628'] },
    })
    expect(await cities('springfield')).toSucceedWith({
      'Springfield, IL': { state: 'IL', prefixes: ['217'] },
      'Springfield, MO': { state: 'MO', prefixes: ['417'] },
    })
    await world.configure('crossbar.phone_numbers', { default_country: 'DE' })
    expect(await cities('MÜNCHEN')).toSucceedWith({ 'München, Stadt': { state: 'BY', prefixes: ['89'] } })
    await world.configure('crossbar.phone_numbers', { default_country: 'US' })
    for (const name of ['Toronto', 'Nowhere', '%', '-']) {
      expect(await cities(name)).toFailWith(500, 'init failed', {
        data: {},
        error: 404,
        message: 'Not Found',
        status: 'error',
      })
    }
  })

  it('tell where numbers are, by the longest prefix', async () => {
    const place = (number: string, country: string, where: Record<string, string>) => ({
      country,
      e164_number: number,
      geocode: { locality: where.locality },
      locality: where,
      number,
      status: 'success',
    })
    const sanFrancisco = {
      locality: 'San Francisco',
      province: 'CA',
      latitude: '37.7749',
      longitude: '-122.4194',
    }
    const sanRafael = { locality: 'San Rafael', province: 'CA', latitude: '37.9735', longitude: '-122.5311' }
    const london = { locality: 'London', latitude: '51.5074', longitude: '-0.1278' }
    await importSample()
    expect(await locality('4152340000', '+14152330000', '+442079460000', '+33123456789')).toSucceedWith({
      '+14152340000': place('+14152340000', 'US', sanFrancisco),
      '+14152330000': place('+14152330000', 'US', sanRafael),
      '+442079460000': place('+442079460000', 'GB', london),
      '+33123456789': { number: '+33123456789', e164_number: '+33123456789', status: 'error' },
    })
  })

  it('are unknown for a text of characters that a prefix cuts in two', async () => {
    await importSample()
    const telephones = '\u{1f4de}'.repeat(6)
    const texts = [telephones, `+${telephones}`]
    const unknown = (number: string) => [number, { number, e164_number: number, status: 'error' }]
    expect(await locality(...texts)).toSucceedWith(Object.fromEntries(texts.map(unknown)))
  })

  it('give found numbers their rate centers', async () => {
    await importSample()
    await stockNumbers(world.server.store, [{ number: '+14152338397' }, { number: '+14180000001' }])
    const found = async (prefix: string) =>
      (await world.ada.get('/v2/phone_numbers', { query: { prefix } })).data[0].rate_center
    expect(await found('415')).toEqual({ lata: '722', name: 'SAN RAFAEL', state: 'CA' })
    expect(await found('418')).toBeUndefined()
  })

  it('are replaced as a whole by the next import, which reports and skips bad lines', async () => {
    const file = await fileWith(
      header,
      '415,US,CA,Elsewhere,ELSEWHR,722,37.7,-122.4',
      'abc,US,CA,X,,,,',
      '415233,ZZ,CA,X,,,,',
      '415234,US,CA',
      '"415235",US,CA,"Two',
      'lines",,,,',
      '415236,US,CA,X,,,97.5,0',
      '415236,US,CA,X,,,7.5,181',
      ',US,CA,Whole country,,,,',
      '+0123,US,CA,X,,,,',
      '415,US,CA,Later,LATER,722,37.7,-122.4',
      '',
    )
    const { status, output, errors } = await run('localities', 'import', file)
    expect(errors.split('\n')).toEqual([
      "line 3: prefix 'abc': is not the beginning of a number",
      "line 4: country 'ZZ' is unknown",
      'line 5: has 3 cells instead of 8',
      'line 8: the latitude is not within -90 and 90',
      'line 9: the longitude is not within -180 and 180',
      "line 11: prefix '+0123': is not the beginning of a number",
      '',
    ])
    expect([status, output]).toEqual([1, '3 localities imported; 6 lines skipped\n'])
    expect(await cities('San')).toFailWith(500, 'init failed')
    expect(await cities('later')).toSucceedWith({ Later: { state: 'CA', prefixes: ['415'] } })
    const rows = await world.server.store.all('SELECT DISTINCT generation FROM localities')
    expect(rows).toHaveLength(1)
  })

  it('stay as they are when a file is none of theirs', async () => {
    await importSample()
    const refusals: [file: string, says: string][] = [
      [await fileWith('prefix,country', '415,US'), 'the header has no column region'],
    ]
    for (const [file, says] of refusals) {
      const ended = await run('localities', 'import', file)
      expect(ended).toMatchObject({ status: 1, output: '' })
      expect(ended.errors).toContain(says)
    }
    const told = async (...lines: string[]) => {
      const ended = await run('localities', 'import', await fileWith(...lines))
      expect(ended).toMatchObject({ status: 1, output: '' })
      return ended.errors
    }
    expect(await told()).toBe('crosspoint: nothing was changed: the file is empty\n')
    expect(await told(`${header},more`, '1')).toContain("an unknown column 'more'")
    expect(await told(header, 'abc,US,CA,X,,,,')).toContain('no locality to import')
    expect(await told(header, '415,US,CA,"X,,,,')).toContain('a quote is not closed')
    expect((await run('localities', 'import', join(folder, 'missing.csv'))).errors).toContain('no such file')
    expect((await run('localities', 'export', sample)).status).toBe(2)
    expect(await cities('San Rafael')).toSucceedWith({ 'San Rafael': { state: 'CA', prefixes: ['415'] } })
  })
})

import { describe, expect, it } from 'vitest'
import { allRoutes } from '../src/commands/openapi.ts'
import { unbuiltIn } from '../src/http/request/router.ts'

const wordsOf = (path: string) => path.split('/').slice(1)

// The words after `resource` in a path, except a word behind an id that does not name a separate resource.
const partsOf = () => {
  const parts: Record<string, string[]> = {}
  for (const { path, spec } of allRoutes()) {
    if (spec.resource === undefined || path.endsWith('}/audit')) continue
    const words = wordsOf(path)
    const part = words.slice(words.lastIndexOf(spec.resource) + 2).join('/')
    parts[spec.resource] = [...new Set([...(parts[spec.resource] ?? []), part])].sort()
  }
  return parts
}

it('no route has the name of a feature that `unbuilt` in the router calls missing', () => {
  expect(unbuiltIn(allRoutes().flatMap(({ path }) => wordsOf(path)))).toBeUndefined()
})

describe('the resource that token restrictions and prices know a route by', () => {
  it('is a word of its path, never a variable', () => {
    for (const { path, resourceAt } of allRoutes()) {
      expect(wordsOf(path)[resourceAt], path).toMatch(/^[a-z_]+$/)
    }
  })

  it('is that of the record for its audit', () => {
    for (const { path, resourceAt } of allRoutes()) {
      if (!path.endsWith('}/audit') || path.endsWith('{account_id}/audit')) continue
      const ofRecord = allRoutes().find((route) => route.path === path.slice(0, -'/audit'.length))
      expect(wordsOf(path)[resourceAt], path).toBe(ofRecord && wordsOf(ofRecord.path)[ofRecord.resourceAt])
    }
  })

  it('is declared where the path ends in a part of it', () => {
    expect(partsOf()).toEqual({
      accounts: ['api_key', 'children', 'descendants', 'move', 'parents', 'reseller', 'siblings', 'tree'],
      users: ['photo', 'qrcode', 'quickcall/{number}', 'vcard'],
      devices: ['quickcall/{number}', 'sync'],
      whitelabel: ['icon', 'logo', 'welcome', '{email_id}/verify'],
      notifications: ['preview'],
      webhooks: ['', 'attempts', 'replay', 'test'],
      apps_store: ['icon', 'screenshot/{index}'],
      phone_numbers: ['activate', 'identify', 'port', 'reserve'],
    })
  })
})

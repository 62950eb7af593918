import { describe, expect, it } from 'vitest'
import {
  isLinkedTo,
  linkHost,
  recoveryLink,
  recoveryProblems,
} from '../../src/areas/accounts/sign-in/rules.ts'

describe('the address in a recovery mail', () => {
  it('carries the reset id in its query, before its fragment', () => {
    expect(recoveryLink('https://ui.test/', 'abc')).toBe('https://ui.test/?recovery=abc')
    expect(recoveryLink('https://ui.test/?a=b', 'abc')).toBe('https://ui.test/?a=b&recovery=abc')
    expect(recoveryLink('https://ui.test/#/login', 'abc')).toBe('https://ui.test/?recovery=abc#/login')
    expect(recoveryLink('https://ui.test/#a?b#c', 'abc')).toBe('https://ui.test/?recovery=abc#a?b#c')
  })

  it('is a web address of a host that may be linked to', () => {
    const broken = (url: string, hosts: string[] = []) =>
      Object.keys(
        recoveryProblems({ ui_url: url, account_id: 'x' }, isLinkedTo(linkHost(url) ?? '', hosts)).ui_url ??
          {},
      )
    expect(broken('https://ui.test/')).toEqual(['forbidden'])
    expect(broken('https://ui.test/', ['*'])).toEqual([])
    expect(broken('http://localhost:8000/')).toEqual([])
    expect(broken('http://127.0.0.1.evil.test/')).toEqual(['forbidden'])
    expect(broken('javascript:alert(1)')).toEqual(['wrong_format'])
    expect(broken('data:text/html,x')).toEqual(['wrong_format'])
    expect(broken('https://ui.test@evil.test/', ['ui.test'])).toEqual(['forbidden'])
    expect(broken('https://UI.test/', ['ui.test'])).toEqual([])
  })
})

import { assert, constant, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { namesIn, renderHtml, renderSubject, renderText } from '../../src/lib/template.ts'

const anyText = () => string({ unit: 'binary', maxLength: 60 })

describe('a template', () => {
  it('has names in double braces, and nothing else that does anything', () => {
    const template = 'a {{x}} {{ y.z }} {x} {{a b}} {% if x %} {{x|safe}} $x {{{x}}}'
    expect(namesIn(template)).toEqual(['x', 'y.z'])
    expect(renderText(template, { x: '1', 'y.z': '2' })).toBe(
      'a 1 2 {x} {{a b}} {% if x %} {{x|safe}} $x {1}',
    )
  })

  it('shows nothing for names without a value, and none that objects are born with', () => {
    expect(renderText('[{{a}}{{constructor}}{{toString}}{{__proto__}}]', {})).toBe('[]')
  })

  it('fills in a value once: what looks like a name in it stays', () => {
    expect(renderText('{{a}} {{b}}', { a: '{{b}}', b: "$& $1 $'" })).toBe("{{b}} $& $1 $'")
  })

  it('lets no value open a tag or end an attribute', () => {
    assert(
      property(anyText(), (value) => {
        const html = renderHtml('<a href="{{x}}" title=\'{{x}}\'>{{x}}</a>', { x: value })
        const inner = html.replace(/^<a href="/, '').replace(/<\/a>$/, '')
        expect([...inner.matchAll(/[<>"']/g)].map(([character]) => character).join('')).toBe(`"''>`)
      }),
    )
  })

  it('makes a subject of one line, whatever the values hold', () => {
    assert(
      property(anyText(), constant('To {{x}}'), (value, template) => {
        const subject = renderSubject(template, { x: value })
        expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
        expect(subject.length).toBeLessThanOrEqual(1000)
      }),
    )
    expect(renderSubject('Hello {{x}}', { x: 'a\r\nBcc: b@c.test' })).toBe('Hello a Bcc: b@c.test')
  })
})

// SIP messages that follow the grammar, nearly follow it, or break it. The same chance gives the same messages.
import type { Chance } from '../../fuzz/chance.ts'

/** What a hostile client may know of a platform. */
export interface Target {
  realm: string
  usernames: readonly string[]
  callIds: readonly string[]
  /** Where it wants its requests to go: `127.0.0.9:5060`. */
  elsewhere: string
}

const methods = [
  ...[
    'INVITE',
    'ACK',
    'BYE',
    'CANCEL',
    'REGISTER',
    'OPTIONS',
    'MESSAGE',
    'UPDATE',
    'REFER',
    'SUBSCRIBE',
    'NOTIFY',
  ],
  ...['PRACK', 'INFO', 'PUBLISH', 'invite', 'KDMQ', 'X-', '', 'A'.repeat(300)],
]

const statuses = [
  '100 Trying',
  '180 Ringing',
  '200 OK',
  '302 Moved',
  '401 Unauthorized',
  '486 Busy',
  '603 Decline',
  '999 ',
  '-1 x',
]

const numbers = [
  '0',
  '1',
  '-1',
  '70',
  '255',
  '256',
  '2147483648',
  '4294967296',
  '99999999999999999999',
  'abc',
  '',
  '1.5',
]

const separators = ['\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n \t', '\r\n\r\n']

export const createSipFuzzer = (chance: Chance, { realm, usernames, callIds, elsewhere }: Target) => {
  const { pick, below, once } = chance

  const word = () =>
    pick<() => string>([
      () => Array.from({ length: below(12) }, () => pick([..."abcXYZ019-_.!~*'()%+"])).join(''),
      () => 'a'.repeat(below(3000)),
      () =>
        pick([
          '%00',
          '%s%n%x',
          '$(rm)',
          "' OR 1=1 --",
          '"',
          '\\',
          '\u0000',
          'ü',
          '../..',
          '|',
          ';',
          '<>',
          '{{}}',
        ]),
    ])()

  const user = () => (once(3) ? word() : pick(usernames))

  const host = () =>
    pick([
      realm,
      realm,
      realm,
      elsewhere,
      '127.0.0.1',
      '[::1]',
      '[::',
      '',
      'localhost',
      `${word()}.invalid`,
      '0.0.0.0:0',
    ])

  const parameters = () =>
    Array.from(
      { length: below(4) },
      () =>
        `;${pick(['lr', 'transport', 'alias', 'maddr', 'received', 'ob', 'expires', 'q', 'did', 'r2', word()])}${once(3) ? '' : `=${pick([elsewhere, 'tcp', 'ws', '127.0.0.9~5060~1', word(), pick(numbers)])}`}`,
    ).join('')

  const uri = () =>
    pick<() => string>([
      () => `sip:${user()}@${host()}${parameters()}`,
      () => `sip:${pick(['100', '911', '+19005550100', '*'])}@${host()}`,
      () => `sips:${host()}`,
      () => `tel:${word()}`,
      () => `sip:${user()}:${word()}@${host()}?Replaces=${word()}&Route=${word()}`,
      () => word(),
    ])()

  const address = () =>
    pick([
      `<${uri()}>${parameters()}`,
      uri(),
      `"${word()}" <${uri()}>`,
      `<${uri()}`,
      '*',
      `<${uri()}>, <${uri()}>`,
    ])

  const tagged = () => `${address()}${once(3) ? '' : `;tag=${pick([word(), 'a', 'bobs'])}`}`

  const headers: (() => [string, string])[] = [
    () => ['Contact', address()],
    () => ['Route', `<sip:${elsewhere};lr>${once(2) ? `, <${uri()};lr>` : ''}`],
    () => ['Record-Route', address()],
    () => ['Expires', pick(numbers)],
    () => ['Max-Forwards', pick(numbers)],
    () => [
      'Authorization',
      `Digest username="${user()}", realm="${realm}", nonce="${word()}", uri="${uri()}", response="${word()}"`,
    ],
    () => ['Proxy-Authorization', `Digest ${word()}`],
    () => ['Replaces', `${pick(callIds)};to-tag=${word()};from-tag=${word()}`],
    () => ['Refer-To', `<${uri()}>`],
    () => ['P-Asserted-Identity', address()],
    () => ['Session-Expires', pick(numbers)],
    () => ['Supported', pick(['timer', '100rel', word()])],
    () => ['Require', word()],
    () => ['RAck', `${pick(numbers)} ${pick(numbers)} INVITE`],
    () => ['Content-Type', pick(['application/sdp', 'multipart/mixed;boundary=', word()])],
    () => ['Content-Length', pick(numbers)],
    () => ['User-Agent', word()],
    () => [word(), word()],
  ]

  const body = () =>
    once(2)
      ? ''
      : pick([
          'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nm=audio 4 RTP/AVP 0\r\n',
          word(),
          '\u0000'.repeat(20),
        ])

  /** Cuts, repeats or replaces a part. */
  const broken = (text: string) => {
    const [from, length] = [below(text.length + 1), below(60)]
    const part = text.slice(from, from + length)
    return text.slice(0, from) + pick([() => '', () => part + part, word])() + text.slice(from + length)
  }

  return (): string => {
    const method = pick(methods)
    const first = once(6)
      ? `SIP/2.0 ${pick(statuses)}`
      : `${method} ${uri()} ${once(20) ? word() : 'SIP/2.0'}`
    const branch = once(4) ? word() : `z9hG4bK${below(1_000_000)}`
    const own: [string, string][] = [
      [
        'Via',
        `SIP/2.0/${pick(['UDP', 'TCP', 'WS', 'TLS'])} ${pick(['127.0.0.1:9', host()])};branch=${branch};rport`,
      ],
      ['From', once(2) ? `<sip:${pick(usernames)}@${realm}>;tag=a` : tagged()],
      ['To', tagged()],
      ['Call-ID', once(2) ? pick(callIds) : word()],
      ['CSeq', `${pick(['1', '2', ...numbers])} ${once(8) ? pick(methods) : method}`],
    ]
    const more = Array.from({ length: below(8) }, () => pick(headers)())
    const all = [...own.filter(() => !once(15)), ...more]
    const lines = [first, ...all.map(([name, value]) => `${name}: ${value}`)]
    const whole = `${lines.join(once(10) ? pick(separators) : '\r\n')}\r\n\r\n${body()}`
    return (once(3) ? broken(whole) : whole).slice(0, 16_000)
  }
}

// Host names of other accounts, and reserved names.
import { brandHostOf, isWithin, realmOf } from '../model.ts'
import { type Asked, asJson, homeOf, isAnyone, type RefusedClass } from './asked.ts'

/** Not allowed in any field. */
const reservedNames = ['127.0.0.1', 'localhost']
/** Forms that resolvers read as an address, and names of the machine itself. A realm may be one of these. */
const reservedForBrands = [...reservedNames, '127.1', '2130706433', '[::1]', 'a.localhost', '0x7f.0.0.1']

/** Host names of tenants that are neither above nor below the account of the persona: related accounts may share some. */
const namesOfOthers = ({ stage, persona }: Asked) =>
  stage.victims
    .filter((victim) => !isWithin(persona.home, victim) && !isWithin(victim, persona.home))
    .flatMap((victim) => [brandHostOf(victim), realmOf(victim)])

/** One name in other letters: realms are ASCII, brands may be written in any. */
const spellingsOf = (host: string, use: 'realm' | 'brand') => [
  host,
  `${host}.`,
  host.toUpperCase(),
  ...(use === 'realm'
    ? []
    : [
        `https://${host}/`,
        `${host}:443`,
        host.replaceAll('.', '\u3002'),
        // Full-width letters, which IDN maps to ASCII.
        host.replace(/[a-z]/g, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0)),
      ]),
]

/** The name, one below it, or one above it. */
const relatedTo = ({ chance }: Asked, host: string) =>
  chance.pick([host, `portal.${host}`, host.slice(host.indexOf('.') + 1), 'test'])

const nameFor = (asked: Asked, use: 'realm' | 'brand') => {
  const { chance } = asked
  const names = namesOfOthers(asked)
  // All accounts are below the master account.
  if (names.length === 0 || chance.once(3))
    return chance.pick(use === 'realm' ? reservedNames : reservedForBrands)
  return chance.pick(spellingsOf(relatedTo(asked, chance.pick(names)), use))
}

export const hostNames: RefusedClass = {
  title: 'a host name of another account',
  isFor: isAnyone,
  make(asked) {
    const { chance, persona } = asked
    const home = homeOf(persona)
    if (chance.once(3)) {
      const realm = nameFor(asked, 'realm')
      if (chance.once(2)) return asJson(persona, 'PATCH', home, { realm })
      return asJson(persona, 'PUT', home, { name: `Named ${chance.below(1e9)}`, realm })
    }
    const field = chance.pick(['domain', 'conference_public_domain'])
    const data = { [field]: nameFor(asked, 'brand') }
    return asJson(persona, chance.pick(['PUT', 'POST']), `${home}/whitelabel`, data)
  },
}

// SIP destinations at hosts that are not the customer's.
import { type DestinationField, destinationFields } from '../../test/support/world/destination-fields.ts'
import { carrierHosts } from '../stage.ts'
import { type Asked, asJson, homeOf, isAnyone, isOperator, type RefusedClass } from './asked.ts'

const forbiddenHosts = [
  ...carrierHosts,
  'GATE.Carrier.test.',
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '[::1]',
  '[::ffff:192.168.0.1]',
  '[fd00::1]',
]

const uriOf = ({ chance }: Asked, host: string) =>
  chance.pick([
    `sip:+19005550123@${host}`,
    `sips:x@${host}:5061`,
    `SIP:x@${host}`,
    `sip:${host};transport=tcp`,
    `sip:x@pbx.test;maddr=${host}`,
    `sip:x@pbx.test?Route=%3Csip:${host}%3E`,
    `sip:x@${host}\r\nRoute: <sip:x@y>`,
  ])

const textFor = (asked: Asked, { form }: DestinationField) => {
  const host = asked.chance.pick(forbiddenHosts)
  return form === 'uri' ? uriOf(asked, host) : host.replace(/^\[(.*)\]$/, '$1')
}

export const destinations: RefusedClass = {
  title: 'a forbidden destination',
  isFor: isAnyone,
  make(asked) {
    const { chance, persona } = asked
    const fields = destinationFields.filter((field) => !field.isOperatorFree || !isOperator(persona))
    const field = chance.pick(fields)
    const { device_id, connectivity_id, phone_number } = persona.home.ids
    const number = phone_number?.[0] ?? '+14155550199'
    const place = field.place(number)
    const data = field.data(textFor(asked, field), number)
    const path = `${homeOf(persona)}/${place}`
    const ids = { devices: device_id, connectivity: connectivity_id }[place]
    if (ids && chance.once(2))
      return asJson(persona, chance.pick(['POST', 'PATCH']), `${path}/${chance.pick(ids)}`, data)
    if (field.method === 'PATCH') return asJson(persona, chance.pick(['POST', 'PATCH']), path, data)
    return asJson(persona, field.method, path, data)
  },
}

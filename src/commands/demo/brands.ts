import type { Caller } from './desk.ts'
import { iconOf, logoOf } from './picture.ts'
import type { BuiltReseller, Stage } from './tree.ts'

interface Brand {
  company_name: string
  domain: string
  colour: readonly [number, number, number]
  welcome: string
  more?: object
}

const putBrand = async (by: Caller, path: string, { colour, welcome, more, ...settings }: Brand) => {
  await by.put(`${path}/whitelabel`, { ...settings, ...more })
  const type = 'image/png'
  await by.send('POST', `${path}/whitelabel/logo`, { type, body: logoOf(colour) })
  await by.send('POST', `${path}/whitelabel/icon`, { type, body: iconOf(colour) })
  await by.send('POST', `${path}/whitelabel/welcome`, { type: 'text/html', body: welcome })
}

export const putBrands = async ({ operator, masterId }: Stage, [harbor]: readonly BuiltReseller[]) => {
  await putBrand(operator, `accounts/${masterId}`, {
    company_name: 'Crosspoint Demo',
    domain: 'demo.example.com',
    colour: [38, 84, 160],
    welcome: '<h1>Welcome</h1><p>Everything here was made up by <code>crosspoint demo</code>.</p>',
  })
  if (!harbor) return
  await putBrand(harbor.admin, harbor.path, {
    company_name: harbor.reseller.name,
    domain: 'harborvoice.example.com',
    colour: [0, 122, 112],
    welcome: '<h1>Harbor Voice</h1><p>Telephones for the whole coast. Call us at +1 206 555 0100.</p>',
    more: {
      hide_powered: true,
      nav: { help: 'https://help.harborvoice.example.com/' },
      port: { support_email: 'porting@harborvoice.invalid' },
      twoway_trunks_price: '$ 19.99',
    },
  })
}

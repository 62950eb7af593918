import { randomHex } from '../../lib/ids.ts'
import type { Chance } from './chance.ts'

/** A model of phone, in the words of provisioning. */
interface Model {
  brand: string
  family: string
  model: string
  label: string
  agent: string
  /** Beginning of its MAC addresses. */
  vendor: string
}

const models: readonly Model[] = [
  {
    brand: 'yealink',
    family: 't4x',
    model: 't46s',
    label: 'Yealink T46S',
    agent: 'Yealink SIP-T46S 66.86.0.15',
    vendor: '001565',
  },
  {
    brand: 'yealink',
    family: 't5x',
    model: 't54w',
    label: 'Yealink T54W',
    agent: 'Yealink SIP-T54W 96.86.0.70',
    vendor: '805ec0',
  },
  {
    brand: 'polycom',
    family: 'vvx',
    model: '450',
    label: 'Poly VVX 450',
    agent: 'PolycomVVX-VVX_450-UA/6.4.3',
    vendor: '64167f',
  },
  {
    brand: 'snom',
    family: 'd7xx',
    model: 'd785',
    label: 'Snom D785',
    agent: 'snomD785/10.1.175.16',
    vendor: '000413',
  },
  {
    brand: 'cisco',
    family: 'spa5xx',
    model: 'spa504g',
    label: 'Cisco SPA504G',
    agent: 'Cisco/SPA504G-7.6.2',
    vendor: '3ccee7',
  },
  {
    brand: 'grandstream',
    family: 'gxp21xx',
    model: 'gxp2170',
    label: 'Grandstream GXP2170',
    agent: 'Grandstream GXP2170 1.0.11.64',
    vendor: '000b82',
  },
]

const softphoneAgent = 'Telephone 1.6'
const ataAgent = 'Grandstream HT802 1.0.29.8'

/** A device as the API takes it, and how it calls itself. */
export interface Phone {
  agent: string
  data: { name: string; device_type: string; sip: { username: string; password: string } } & Record<
    string,
    unknown
  >
}

/** A secret is none when everybody can work it out: not a matter of the story's chance. */
const secret = () => ({ password: randomHex(12) })

export const deskPhone = (chance: Chance, owner: string, username: string): Phone => {
  const { brand, family, model, label, agent, vendor } = chance.one(models)
  return {
    agent,
    data: {
      name: `${label} ${owner}`,
      device_type: 'sip_device',
      mac_address: `${vendor}${chance.hex(6)}`.replace(/(..)(?!$)/g, '$1:'),
      provision: { endpoint_brand: brand, endpoint_family: family, endpoint_model: model },
      sip: { username, ...secret() },
    },
  }
}

export const softphone = (owner: string, username: string): Phone => ({
  agent: softphoneAgent,
  data: { name: `Softphone ${owner}`, device_type: 'softphone', sip: { username, ...secret() } },
})

/** What belongs to no person: a fax at an adapter, a door, a phone in the lobby. */
export const commonPhone = (name: string, username: string): Phone => ({
  agent: ataAgent,
  data: { name, device_type: name === 'Fax' ? 'fax' : 'ata', sip: { username, ...secret() } },
})

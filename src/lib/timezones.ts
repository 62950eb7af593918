// The runtime lists preferred names only, and its formatter accepts offsets. These are the other names of the database (2025b), by region.
const otherNames: Record<string, string> = {
  Africa: 'Asmara Asmera Timbuktu',
  America:
    'Atikokan Atka Buenos_Aires Catamarca Coral_Harbour Cordoba Ensenada Fort_Wayne Godthab Indianapolis Jujuy Knox_IN Kralendijk Louisville Lower_Princes Marigot Mendoza Montreal Nipigon Nuuk Pangnirtung Porto_Acre Rainy_River Rosario Santa_Isabel Shiprock St_Barthelemy Thunder_Bay Virgin Yellowknife',
  'America/Argentina': 'Buenos_Aires Catamarca ComodRivadavia Cordoba Jujuy Mendoza',
  'America/Indiana': 'Indianapolis',
  'America/Kentucky': 'Louisville',
  Antarctica: 'South_Pole',
  Arctic: 'Longyearbyen',
  Asia: 'Ashkhabad Calcutta Choibalsan Chongqing Chungking Dacca Harbin Ho_Chi_Minh Istanbul Kashgar Kathmandu Katmandu Kolkata Macao Rangoon Saigon Tel_Aviv Thimbu Ujung_Pandang Ulan_Bator Yangon',
  Atlantic: 'Faeroe Faroe Jan_Mayen',
  Australia: 'ACT Canberra Currie LHI NSW North Queensland South Tasmania Victoria West Yancowinna',
  Brazil: 'Acre DeNoronha East West',
  Canada: 'Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon',
  Chile: 'Continental EasterIsland',
  Etc: 'GMT GMT0 GMT+0 GMT+1 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT+10 GMT+11 GMT+12 GMT-0 GMT-1 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT-10 GMT-11 GMT-12 GMT-13 GMT-14 Greenwich UCT UTC Universal Zulu',
  Europe:
    'Belfast Bratislava Busingen Kiev Kyiv Mariehamn Nicosia Podgorica San_Marino Tiraspol Uzhgorod Vatican Zaporozhye',
  Mexico: 'BajaNorte BajaSur General',
  Pacific: 'Chuuk Enderbury Johnston Kanton Pohnpei Ponape Samoa Truk Yap',
  US: 'Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa',
}

const namesWithoutRegion =
  'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu'

/** With links to older and newer names. */
export const timezoneNames: ReadonlySet<string> = new Set([
  ...Intl.supportedValuesOf('timeZone'),
  ...namesWithoutRegion.split(' '),
  ...Object.entries(otherNames).flatMap(([region, names]) =>
    names.split(' ').map((name) => `${region}/${name}`),
  ),
])

export const isTimezone = (name: string) => timezoneNames.has(name)

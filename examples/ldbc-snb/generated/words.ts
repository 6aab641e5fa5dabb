/**
 * What the generated network is named with: countries with their cities, languages and the names
 * of people there, the hierarchy of tag classes, and words for titles.
 *
 * No cell may contain `|` or `;`, which separate cells and the elements of a list.
 */
export interface Country {
  readonly name: string;
  readonly continent: string;
  readonly languages: readonly string[];
  /** The first three numbers of the addresses there are made from it. */
  readonly network: number;
  readonly cities: readonly string[];
  readonly firstNames: readonly string[];
  readonly lastNames: readonly string[];
}

function country(
  [name, continent, languages]: readonly [string, string, string],
  network: number,
  [cities, firstNames, lastNames]: readonly [string, string, string],
): Country {
  return {
    name,
    continent,
    languages: languages.split(' '),
    network,
    cities: cities.split(' '),
    firstNames: firstNames.split(' '),
    lastNames: lastNames.split(' '),
  };
}

/** The most populous first: early ones are drawn more often. */
export const countries: readonly Country[] = [
  country(['India', 'Asia', 'hi ta'], 49, [
    'Delhi Mumbai Chennai Pune Jaipur',
    'Arjun Priya Ravi Meera Amit Lata John Anil',
    'Sharma Kumar Singh Rao Patel Khan',
  ]),
  country(['China', 'Asia', 'zh'], 1, [
    'Beijing Shanghai Chengdu Wuhan Xiamen',
    'Wei Yang Li Chen Jie Fang Lin Hao',
    'Zhang Wang Li Liu Chen Zhao',
  ]),
  country(['Germany', 'Europe', 'de'], 46, [
    'Berlin Hamburg Köln Leipzig Bremen',
    'Hans Karl Anna Jürgen Petra Otto Eva Paul',
    'Müller Schmidt Fischer Weber Becker Wolf',
  ]),
  country(['United_States', 'North_America', 'en'], 24, [
    'Chicago Boston Seattle Denver Atlanta',
    'John Mary James Anna Robert Alice Paul Jane',
    'Smith Jones Brown Wilson Miller Davis',
  ]),
  country(['Brazil', 'South_America', 'pt'], 177, [
    'São_Paulo Recife Salvador Manaus',
    'João Maria Pedro Ana Luiz Paula Jose Rita',
    'Silva Santos Costa Souza Lima Alves',
  ]),
  country(['Nigeria', 'Africa', 'en yo ig'], 41, [
    'Lagos Kano Ibadan Abuja',
    'Chidi Ngozi Emeka Ada Tunde Bola John Uche',
    'Okafor Adeyemi Balogun Eze Bello Obi',
  ]),
  country(['Indonesia', 'Asia', 'id jv'], 36, [
    'Jakarta Bandung Medan Surabaya',
    'Budi Siti Agus Dewi Eko Rina Adi Sri',
    'Santoso Wijaya Putra Sari Hidayat',
  ]),
  country(['Mexico', 'North_America', 'es'], 187, [
    'Puebla Monterrey Oaxaca Mérida',
    'Jose Maria Juan Ana Luis Rosa Carlos Eva',
    'Garcia Lopez Perez Sanchez Cruz Flores',
  ]),
  country(['France', 'Europe', 'fr'], 80, [
    'Paris Lyon Nantes Lille',
    'Jean Marie Paul Chloé Luc Anne Hugo Léa',
    'Martin Bernard Petit Durand Moreau',
  ]),
  country(['Egypt', 'Africa', 'ar'], 197, [
    'Cairo Giza Luxor Aswan',
    'Ahmed Fatima Omar Layla Hassan Amira',
    'Ali Hassan Mahmoud Ibrahim Saleh',
  ]),
  country(['Poland', 'Europe', 'pl'], 83, [
    'Kraków Gdańsk Łódź Lublin',
    'Jan Anna Piotr Ewa Paweł Maria',
    'Nowak Kowalski Wójcik Lis Mazur',
  ]),
  country(['Kenya', 'Africa', 'sw en'], 105, [
    'Nairobi Mombasa Kisumu',
    'Otieno Wanjiru Kamau Akinyi John Amina',
    'Odhiambo Mwangi Kimani Njoroge',
  ]),
  country(['Peru', 'South_America', 'es qu'], 190, [
    'Lima Cusco Arequipa',
    'Jose Rosa Luis Carmen Juan Inti',
    'Quispe Flores Huamán Rojas',
  ]),
  country(['Sweden', 'Europe', 'sv'], 78, [
    'Stockholm Uppsala Malmö',
    'Erik Anna Lars Eva Nils Karin',
    'Berg Lund Ek Sjöberg Holm',
  ]),
];

/** Each class with the class above it, which stands before it. */
export const tagClasses: readonly (readonly [name: string, above: string | undefined])[] = [
  ['Thing', undefined],
  ['Agent', 'Thing'],
  ['Work', 'Thing'],
  ['Place', 'Thing'],
  ['Person', 'Agent'],
  ['Organisation', 'Agent'],
  ['Artist', 'Person'],
  ['Athlete', 'Person'],
  ['Politician', 'Person'],
  ['Scientist', 'Person'],
  ['Writer', 'Artist'],
  ['MusicalArtist', 'Artist'],
  ['SoccerPlayer', 'Athlete'],
  ['TennisPlayer', 'Athlete'],
  ['President', 'Politician'],
  ['Band', 'Organisation'],
  ['Company', 'Organisation'],
  ['Film', 'Work'],
  ['Song', 'Work'],
  ['Album', 'Work'],
  ['Mountain', 'Place'],
];

/** Words for the names of tags that are not persons. */
export const qualities: readonly string[] =
  'Silent Golden Broken Distant Early Burning Hidden Northern Little Last Red Open'.split(' ');
export const things: readonly string[] =
  'River Garden Mirror Harbour Winter Engine Letter Island Lantern Bridge Storm Orchard'.split(' ');

export const browsers: readonly string[] = ['Firefox', 'Chrome', 'Internet Explorer', 'Safari'];
export const mailHosts: readonly string[] = ['gmail.com', 'gmx.com', 'yahoo.com', 'zoho.com'];
export const shortReplies: readonly string[] =
  'yes,no,thanks,great,ok,right,fine,maybe,no way,good,I see,lol,duh'.split(',');

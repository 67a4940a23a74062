package main

// texts are objects as they stand in lists of custom resources, events and patches.
var texts = []string{
	`{}`,
	`{"a":null}`,
	`{"a":true,"b":false}`,
	`{"z":1,"aa":2,"b":3,"a":4}`,
	`{"n":[0,1,23,24,255,256,65535,65536,4294967295,4294967296,9223372036854775807]}`,
	`{"n":[-1,-24,-25,-256,-257,-65536,-65537,-4294967296,-4294967297,-9223372036854775808]}`,
	`{"f":[0.5,1.5,-4.1,1.1,65504.5,100000.5,3.4028234663852886e38,1e300,5.960464477539063e-8]}`,
	`{"f":[0.00006103515625,-0.25,1e-7,0.1,2.2250738585072014e-308,5e-324,1e20]}`,
	`{"s":["","a","\"\\","é","水","𐅑","\u0000\u001f","<&>"]}`,
	`{"text":"123456789012345678901234"}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"k":"v"}}`,
	`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","labels":{"b":"2","a":"1","aa":"3"}},"spec":{"size":3,"parts":[{"b":1,"a":2},[],{}],"ratio":0.25,"on":true,"none":null}}`,
	`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"BadRequest","code":400}`,
	`{"many":{"k01":1,"k02":2,"k03":3,"k04":4,"k05":5,"k06":6,"k07":7,"k08":8,"k09":9,"k10":10,"k11":11,"k12":12,"k13":13,"k14":14,"k15":15,"k16":16,"k17":17,"k18":18,"k19":19,"k20":20,"k21":21,"k22":22,"k23":23,"k24":24,"k9":0}}`,
	`{"list":[[[[[[1]]]]],{"a":{"b":{"c":{"d":[]}}}}]}`,
}

// items are what strangers may send: each form that there is, and what is wrong with some.
func items() []string {
	return []string{
		// Whole numbers.
		"00", "17", "1818", "18ff", "190100", "1a00010000", "1b7fffffffffffffff", "1b8000000000000000",
		"1bffffffffffffffff", "20", "3863", "3903e7", "3b7fffffffffffffff", "3b8000000000000000",
		"3bffffffffffffffff", "1800", "1b0000000000000001",
		// Fractions.
		"f90000", "f98000", "f93c00", "f93e00", "f97bff", "f90001", "f90400", "f9c400", "fa47c35000",
		"fa7f7fffff", "fb3ff199999999999a", "fb7e37e43c8800759c", "fbc010666666666666",
		"f97c00", "f97e00", "f9fc00", "fa7f800000", "fa7fc00000", "fb7ff0000000000000",
		"fb7ff8000000000000", "fb4330000000000000",
		// Single values.
		"f4", "f5", "f6", "f7", "f0", "e0", "f8ff", "f820", "f814", "f800", "fc", "fd", "fe", "ff",
		// Texts and bytes.
		"40", "4161", "60", "6161", "62c3bc", "61ff", "41ff", "62c328", "7f6161ff", "7f61616162ff",
		"5f41614162ff", "5fff", "7fff", "5f6161ff", "7f4161ff", "5f5f4161ffff", "7f61ff6161ff",
		"7f61e261829cff",
		// Lists.
		"80", "83010203", "9fff", "9f0102ff", "8301820203820405", "9f", "9f01", "8401",
		// Maps.
		"a0", "a1416101", "a1616101", "bfff", "bf416101ff", "bf4161ff", "a10102", "a12002", "a1f401", "a1f601",
		"a1fb3ff199999999999a01", "a18001", "a1a001", "a1c1016161", "a2416101416102", "a2416101616102",
		"a3416101416102416303", "a24162f64162f6", "bf416101416102ff", "a1616180", "a1",
		// Tags.
		"d9d9f7a0", "d9d9f7d9d9f7a0", "c074323031332d30332d32315432303a30343a30305a", "c11a514b67b0",
		"c1fb41d452d9ec200000", "c120", "c1f6", "c100", "c0", "c000", "c06161", "c05461616161", "c1c100",
		"c1f93e00", "c24101", "c34101", "c2f6", "d64401020304", "d54401020304", "d74401020304",
		"d5440fffffff", "d68241614162", "d6a141614162", "d66161", "d6d54161", "d6c24161", "d818456449455446",
		"d82076687474703a2f2f7777772e6578616d706c652e636f6d", "c400", "c582016161", "d90102820102",
		"dbffffffffffffffff00", "d6d9d9f74161", "d8185f4161ff",
		"c07818323031332d30332d32315432303a30343a30302e3132335a",
		"c07819323031332d30332d32315432303a30343a30302b30323a3030", "c11bffffffffffffffff",
		"c13b7fffffffffffffff", "c11b000000ffffffffff", "c1fb7e37e43c8800759c",
		// Lengths that are not there.
		"", "18", "19", "1901", "1a010203", "1b01020304050607", "41", "4201", "61", "58", "58ff", "59ffff",
		"5affffffff", "5b00000000ffffffff", "5b7fffffffffffffff", "5b8000000000000000", "5bffffffffffffffff",
		"7bffffffffffffffff", "9affffffff", "9b0000000100000000", "9bffffffffffffffff", "9a7fffffff",
		"ba00200001", "ba00200000", "bb0000000100000000", "bbffffffffffffffff", "d9", "d9d9f7", "c6", "9f61",
		// What no head says.
		"1c", "1d", "1e", "1f", "3c", "3f", "5c", "7d", "9e", "bc", "df", "dc",
		// More than one item.
		"0000", "a0a0", "f6f6f6", "d9d9f7a000",
	}
}

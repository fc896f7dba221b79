package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim/template"
)

var scope = template.Scope{
	SubscriptionID: "s1", TenantID: "t1", ResourceGroup: "rg", Location: "westeurope",
	Tags: map[string]string{"team": "render"}, Deployment: "first",
}

// evaluate is the value of an expression, or of any JSON value, as the property
// "it" of a resource, with the template's other sections before it.
func evaluate(t *testing.T, sections, value string) (any, error) {
	t.Helper()
	source := fmt.Sprintf(`{%s"resources":[{"type":"A.B/c","name":"x","apiVersion":"1","properties":{"it":%s}}]}`, sections, value)
	d, err := template.Evaluate([]byte(source), nil, scope)
	if err != nil {
		return nil, err
	}
	body, err := d.Resources[0].Body(nil)
	if err != nil {
		return nil, err
	}
	return body["properties"].(map[string]any)["it"], nil
}

func TestExpressionsHaveTheValuesTheReferenceGives(t *testing.T) {
	for expression, want := range map[string]string{
		`concat('a', 1, true())`:                   `"a1True"`,
		`concat(createArray(1), createArray('b'))`: `[1,"b"]`,
		`'it''s'`:                                                 `"it's"`,
		`resourceGroup().location`:                                `"westeurope"`,
		`RESOURCEGROUP().tags['TEAM']`:                            `"render"`,
		`subscription().subscriptionId`:                           `"s1"`,
		`subscription().tenantId`:                                 `"t1"`,
		`deployment().name`:                                       `"first"`,
		`resourceId('A.B/c', 'x')`:                                `"/subscriptions/s1/resourceGroups/rg/providers/A.B/c/x"`,
		`resourceId('A.B/c/d', 'x', 'y')`:                         `"/subscriptions/s1/resourceGroups/rg/providers/A.B/c/x/d/y"`,
		`resourceId('other', 'A.B/c', 'x')`:                       `"/subscriptions/s1/resourceGroups/other/providers/A.B/c/x"`,
		`resourceId('s2', 'other', 'A.B/c', 'x')`:                 `"/subscriptions/s2/resourceGroups/other/providers/A.B/c/x"`,
		`subscriptionResourceId('A.B/c', 'x')`:                    `"/subscriptions/s1/providers/A.B/c/x"`,
		`extensionResourceId('/subscriptions/s2/', 'A.B/c', 'x')`: `"/subscriptions/s2/providers/A.B/c/x"`,
		`environment().suffixes.keyvaultDns`:                      `".vault.azure.net"`,
		`if(false(), 1, json('null'))`:                            `null`,
		`add(2, mul(3, sub(7, 2)))`:                               `17`,
		`div(-7, 2)`:                                              `-3`,
		`mod(-7, 2)`:                                              `-1`,
		`min(3, 1, 2)`:                                            `1`,
		`max(createArray(3, 1, 9))`:                               `9`,
		`int('42')`:                                               `42`,
		`string(createObject('b', 1, 'a', createArray(null())))`:  `"{\"a\":[null],\"b\":1}"`,
		`bool('1')`:                                               `true`,
		`length('grün')`:                                          `4`,
		`toUpper(toLower('aBc'))`:                                 `"ABC"`,
		`replace('a-b-c', '-', '')`:                               `"abc"`,
		`substring('grünes', 2, 2)`:                               `"ün"`,
		`substring('abc', 3)`:                                     `""`,
		`split('a,b;c', createArray(',', ';'))`:                   `["a","b","c"]`,
		`join(createArray('a', 'b'), '-')`:                        `"a-b"`,
		`padLeft(7, 3, '0')`:                                      `"007"`,
		`padLeft('12345', 3, '0')`:                                `"12345"`,
		`format('{0}-{1:D3}-{1:00}-{{}}', 'vm', 7)`:               `"vm-007-07-{}"`,
		`base64('hi')`:                                            `"aGk="`,
		`base64ToString('aGk=')`:                                  `"hi"`,
		`json('{"a":[1,2]}').a[1]`:                                `2`,
		`if(equals(1, 2), div(1, 0), 'else')`:                     `"else"`,
		`if(true(), 'then', div(1, 0))`:                           `"then"`,
		`and(true(), false(), bool('nonsense'))`:                  `false`,
		`or(false(), not(false()))`:                               `true`,
		`less(1, 2)`:                                              `true`,
		`greater('b', 'a')`:                                       `true`,
		`lessOrEquals(2, 2)`:                                      `true`,
		`greaterOrEquals(1, 2)`:                                   `false`,
		`equals(createObject('a', createArray(1)), json('{"a":[1]}'))`: `true`,
		`equals('a', 'A')`: `false`,
		`array('x')`:       `["x"]`,
		`union(createArray(1, 2), createArray(2, 3))`:                                             `[1,2,3]`,
		`union(createObject('a', createObject('x', 1)), createObject('a', createObject('y', 2)))`: `{"a":{"x":1,"y":2}}`,
		`first('abc')`:                                    `"a"`,
		`last(createArray(1, 2))`:                         `2`,
		`contains(createObject('Key', 1), 'key')`:         `true`,
		`contains('abc', 'b')`:                            `true`,
		`contains(createArray(1, 2), 3)`:                  `false`,
		`empty('')`:                                       `true`,
		`coalesce(null(), 'b')`:                           `"b"`,
		`range(3, 2)`:                                     `[3,4]`,
		`take('abc', 2)`:                                  `"ab"`,
		`skip(createArray(1, 2, 3), 2)`:                   `[3]`,
		`concat(reference('A.B/other').principalId, 'x')`: `null`,
		`createArray(1, reference('z').a.b[0])`:           `[1,null]`,
		`providers('A.B', 'c').apiVersions[0]`:            `"2024-07-01"`,
	} {
		t.Run(expression, func(t *testing.T) {
			raw, _ := json.Marshal("[" + expression + "]")
			got, err := evaluate(t, "", string(raw))
			if err != nil {
				t.Fatal(err)
			}
			shown, _ := json.Marshal(got)
			if string(shown) != want {
				t.Errorf("got %s, want %s", shown, want)
			}
		})
	}
}

func TestMistakesNameTheSpotAndWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		sections, value string
		want            []string
	}{
		"an unclosed call":          {"", `"[concat('a']"`, []string{"resources[0].properties.it", "',' or ')' is missing"}},
		"an unclosed text":          {"", `"[concat('a)]"`, []string{"closing quote"}},
		"something after the end":   {"", `"[true() x]"`, []string{"unexpected 'x'"}},
		"a bare word":               {"", `"[x]"`, []string{"'x' is not followed by '('"}},
		"an unknown function":       {"", `"[listKeys('x')]"`, []string{"'listKeys' is not valid or not simulated"}},
		"too many arguments":        {"", `"[toLower('a','b')]"`, []string{"does not take 2 arguments"}},
		"a wrong type":              {"", `"[add('1', 2)]"`, []string{"'add'", "argument 1 must be of type 'Integer'"}},
		"an overflow":               {"", `"[mul(9223372036854775807, 2)]"`, []string{"does not fit into 64 bits"}},
		"division by zero":          {"", `"[mod(1, 0)]"`, []string{"division by zero"}},
		"an index out of bounds":    {"", `["[createArray(1)[1]]"]`, []string{"properties.it[0]", "out of bounds"}},
		"a missing property":        {"", `"[resourceGroup().nope]"`, []string{"'nope' doesn't exist", "location"}},
		"an unknown parameter":      {"", `"[parameters('nope')]"`, []string{"parameter 'nope' is not found"}},
		"an unknown variable":       {"", `"[variables('nope')]"`, []string{"variable 'nope' is not found"}},
		"copyIndex outside a loop":  {"", `"[copyIndex()]"`, []string{"stands in no copy loop"}},
		"a type without its names":  {"", `"[resourceId('A.B/c/d', 'x')]"`, []string{"needs 2 names"}},
		"deep nesting":              {"", `"[` + strings.Repeat("not(", 80) + `true()` + strings.Repeat(")", 80) + `]"`, []string{"nested deeper"}},
		"a variable about itself":   {`"variables":{"a":"[variables('b')]","b":"[variables('a')]"},`, `1`, []string{"depends on itself"}},
		"a template that explodes":  {`"variables":{` + explosive() + `},`, `1`, []string{"amounts to more than"}},
		"a parameter without value": {`"parameters":{"n":{"type":"int"}},`, `1`, []string{"parameters.n", "'n' is not provided"}},
		"a default of another type": {`"parameters":{"n":{"type":"int","defaultValue":"x"}},`, `1`, []string{"expected a value of type 'Integer'", "'String'"}},
		"a default not allowed":     {`"parameters":{"n":{"type":"int","defaultValue":3,"allowedValues":[1,2]}},`, `1`, []string{"not part of the allowed values"}},
		"a default too large":       {`"parameters":{"n":{"type":"int","defaultValue":3,"maxValue":2}},`, `1`, []string{"3 is greater than maxValue 2"}},
		"a default too short":       {`"parameters":{"n":{"type":"string","defaultValue":"a","minLength":2}},`, `1`, []string{"1 is less than minLength 2"}},
		"an unknown parameter type": {`"parameters":{"n":{"type":"float"}},`, `1`, []string{"parameters.n.type", "'float' is not a parameter type"}},
		"user functions":            {`"functions":[{"namespace":"x"}],`, `1`, []string{"templates with 'functions' are not simulated"}},
		"symbolic names":            {`"languageVersion":"2.0",`, `1`, []string{"symbolic names"}},
		"a reference in a variable": {`"variables":{"a":"[reference('x').y]"},`, `1`, []string{"not allowed in variables"}},
		"a property loop too long":  {"", `{"copy":[{"name":"a","count":801,"input":1}]}`, []string{"it.copy[0].count", "'0'..'800'"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evaluate(t, tc.sections, tc.value)
			var e *template.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a template error", err)
			}
			for _, part := range append(tc.want, "Deployment template validation failed") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %q", part, err)
				}
			}
		})
	}
}

// explosive variables hold each the one before twice.
func explosive() string {
	parts := []string{`"v0":"[createArray('0123456789')]"`}
	for n := range 60 {
		parts = append(parts, fmt.Sprintf(`"v%d":"[createArray(variables('v%d'), variables('v%d'))]"`, n+1, n, n))
	}
	return strings.Join(parts, ",")
}

func TestABracketAtTheStartCanBeEscaped(t *testing.T) {
	got, err := evaluate(t, "", `["[[plain]", "[not closed", "a[b]", "[[x"]`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"[plain]", "[not closed", "a[b]", "[[x"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const pool = `{
  "parameters": {
    "agentsCount":  {"type": "int", "minValue": 1, "maxValue": 100},
    "agentsOffset": {"type": "int", "defaultValue": 0},
    "password":     {"type": "secureString", "defaultValue": "hush"},
    "names":        {"type": "array", "defaultValue": ["a", "b"]}
  },
  "variables": {
    "prefix": "[concat('k8s-', variables('pool'), '-12345678-')]",
    "pool": "agents",
    "copy": [{"name": "lower", "count": "[length(parameters('names'))]", "input": "[toLower(parameters('names')[copyIndex('lower')])]"}]
  },
  "resources": [
    {"type": "Microsoft.Compute/virtualMachines", "name": "[concat(variables('prefix'), copyIndex(parameters('agentsOffset')))]", "apiVersion": "2024-07-01",
     "copy": {"name": "vms", "count": "[sub(parameters('agentsCount'), parameters('agentsOffset'))]"},
     "dependsOn": ["[concat('Microsoft.Network/networkInterfaces/', 'nic-', copyIndex(parameters('agentsOffset')))]", "[resourceId('Microsoft.Compute/availabilitySets', 'set')]"],
     "location": "[resourceGroup().location]",
     "properties": {
       "osProfile": {"adminPassword": "[parameters('password')]"},
       "storageProfile": {"copy": [{"name": "dataDisks", "count": 2, "input": {"lun": "[copyIndex('dataDisks')]", "name": "[format('d{0}-{1}', copyIndex('vms'), copyIndex('dataDisks', 1))]"}}]}
     }},
    {"type": "Microsoft.Network/networkInterfaces", "name": "[concat('nic-', copyIndex(parameters('agentsOffset')))]", "apiVersion": "2024-05-01",
     "copy": {"name": "nics", "count": "[sub(parameters('agentsCount'), parameters('agentsOffset'))]"},
     "dependsOn": ["nsg"]},
    {"type": "Microsoft.Compute/availabilitySets", "name": "set", "apiVersion": "2024-07-01"},
    {"type": "Microsoft.Network/networkSecurityGroups", "name": "nsg", "apiVersion": "2024-05-01", "condition": "[equals(1, 2)]"},
    {"type": "Microsoft.Authorization/roleAssignments", "name": "[guid('a')]", "apiVersion": "2022-04-01", "dependsOn": ["vms"],
     "properties": {"principalId": "[reference(resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', 'id'), '2024-11-30').principalId]"}},
    {"type": "Microsoft.ManagedIdentity/userAssignedIdentities", "name": "id", "apiVersion": "2024-11-30"}
  ],
  "outputs": {
    "lower": {"type": "array", "value": "[variables('lower')]"},
    "secret": {"type": "secureString", "value": "[parameters('password')]"},
    "who": {"type": "string", "value": "[reference('id').principalId]"}
  }
}`

func TestAPoolOfMachinesComesInTheOrderItNeeds(t *testing.T) {
	d, err := template.Evaluate([]byte(pool), []byte(`{"agentsCount":{"value":5},"AGENTSOFFSET":{"value":3}}`), scope)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range d.Resources {
		var after []string
		for _, other := range r.DependsOn {
			after = append(after, other.Name)
		}
		got = append(got, r.Name+" after "+strings.Join(after, " "))
	}
	guid := d.Resources[len(d.Resources)-1].Name
	want := []string{
		"nic-3 after ", "set after ", "k8s-agents-12345678-3 after nic-3 set",
		"nic-4 after ", "k8s-agents-12345678-4 after nic-4 set",
		"id after ", guid + " after k8s-agents-12345678-3 k8s-agents-12345678-4 id",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	body, err := d.Resources[4].Body(nil)
	if err != nil {
		t.Fatal(err)
	}
	wantBody := map[string]any{
		"location": "westeurope",
		"properties": map[string]any{
			"osProfile": map[string]any{"adminPassword": "hush"},
			"storageProfile": map[string]any{"dataDisks": []any{
				map[string]any{"lun": int64(0), "name": "d1-1"}, map[string]any{"lun": int64(1), "name": "d1-2"},
			}},
		},
	}
	if diff := cmp.Diff(wantBody, body); diff != "" {
		t.Errorf("the second machine (-want +got):\n%s", diff)
	}
	wantParameters := map[string]template.Parameter{
		"agentsCount": {Type: "int", Value: int64(5)}, "agentsOffset": {Type: "int", Value: int64(3)},
		"names": {Type: "array", Value: []any{"a", "b"}},
	}
	if diff := cmp.Diff(wantParameters, d.Parameters); diff != "" {
		t.Errorf("parameters, without the secure one (-want +got):\n%s", diff)
	}
}

func TestReferencesAreAskedWhenTheirResourceExists(t *testing.T) {
	d, err := template.Evaluate([]byte(pool), []byte(`{"agentsCount":{"value":1}}`), scope)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	reference := func(id string, full bool) (map[string]any, error) {
		asked = append(asked, fmt.Sprint(id, " ", full))
		return map[string]any{"principalId": "p1"}, nil
	}
	body, err := d.Resources[len(d.Resources)-1].Body(reference)
	if err != nil {
		t.Fatal(err)
	}
	if got := body["properties"].(map[string]any)["principalId"]; got != "p1" {
		t.Errorf("principal %v", got)
	}
	out, err := d.Outputs(reference)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]template.Parameter{
		"lower": {Type: "array", Value: []any{"a", "b"}}, "who": {Type: "string", Value: "p1"},
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	id := "/subscriptions/s1/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/id false"
	if diff := cmp.Diff([]string{id, id}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestResourcesThatDoNotFitTogetherAreRefused(t *testing.T) {
	resource := func(name string, more string) string {
		return fmt.Sprintf(`{"type":"A.B/c","name":%q,"apiVersion":"1"%s}`, name, more)
	}
	for name, tc := range map[string]struct{ resources, want string }{
		"a circle":                   {resource("a", `,"dependsOn":["b"]`) + "," + resource("b", `,"dependsOn":["a"]`), "circular dependency"},
		"a circle through reference": {resource("a", `,"dependsOn":["b"]`) + "," + resource("b", `,"p":"[reference('a').x]"`), "circular dependency"},
		"on itself":                  {resource("a", `,"dependsOn":["a"]`), "depends on itself"},
		"on what is not there":       {resource("a", `,"dependsOn":["[resourceId('A.B/c', 'z')]"]`), "is not defined in the template"},
		"twice the same":             {resource("a", "") + "," + resource("A", ""), "defined multiple times"},
		"an ambiguous name":          {resource("a", "") + `,{"type":"A.B/d","name":"a","apiVersion":"1"},` + resource("b", `,"dependsOn":["a"]`), "several resources"},
		"a name too short":           {`{"type":"A.B/c/d","name":"a","apiVersion":"1"}`, "do not fit"},
		"a name that must be known":  {resource("[reference('x').name]", ""), "must be known before"},
		"no version":                 {`{"type":"A.B/c","name":"a"}`, "apiVersion"},
		"an outer nested deployment": {`{"type":"Microsoft.Resources/deployments","name":"a","apiVersion":"1","properties":{"template":{}}}`, "scope 'inner' alone"},
		"a linked deployment": {`{"type":"Microsoft.Resources/deployments","name":"a","apiVersion":"1",
			"properties":{"expressionEvaluationOptions":{"scope":"inner"},"templateLink":{"uri":"x"}}}`, "has a 'template'"},
		"a loop without end":          {resource("[concat('a', copyIndex())]", `,"copy":{"name":"l","count":801}`), "copy count must be"},
		"a loop inside a resource":    {resource("a", `,"resources":[{"type":"d","name":"x","apiVersion":"1","copy":{"name":"l","count":2}}]`), "can't have a copy loop"},
		"something that is no object": {"1", "resources[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template.Evaluate([]byte(`{"resources":[`+tc.resources+`]}`), nil, scope)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestNestedResourcesCarryTheirParentsTypeAndName(t *testing.T) {
	d, err := template.Evaluate([]byte(`{"resources":[{"type":"A.B/c","name":"a","apiVersion":"1",
		"resources":[{"type":"d","name":"x","apiVersion":"1","dependsOn":["a"]}]},
		{"type":"A.B/e","name":"empty","apiVersion":"1","copy":{"name":"none","count":0}},
		{"type":"A.B/e","name":"last","apiVersion":"1","dependsOn":["none","A.B/c/d/a/x"]}]}`), nil, scope)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range d.Resources {
		got = append(got, r.ID)
	}
	want := []string{
		"/subscriptions/s1/resourceGroups/rg/providers/A.B/c/a",
		"/subscriptions/s1/resourceGroups/rg/providers/A.B/c/a/d/x",
		"/subscriptions/s1/resourceGroups/rg/providers/A.B/e/last",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParametersAreHeldAgainstTheTemplate(t *testing.T) {
	for name, tc := range map[string]struct{ given, want string }{
		"one too many":      {`{"agentsCount":{"value":1},"agentCount":{"value":1}}`, "do not correspond to any parameters defined in the template: 'agentCount'"},
		"without an object": {`{"agentsCount":1}`, "under 'value'"},
		"from a key vault":  {`{"agentsCount":{"reference":{}}}`, "key vault"},
		"of another type":   {`{"agentsCount":{"value":"1"}}`, "expected a value of type 'Integer', but received a value of type 'String'"},
		"out of range":      {`{"agentsCount":{"value":101}}`, "101 is greater than maxValue 100"},
		"not JSON":          {`{`, "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template.Evaluate([]byte(pool), []byte(tc.given), scope)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// FuzzExpression evaluates any text as a property: whatever it is, evaluation
// ends, with a value that is JSON or with a template error.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"[concat('a', parameters('p'))]", "[[x]", "[json('{')]", "[a.b[", "[union(createArray(1),createArray(2))[0].x]",
		"[format('{0:D99}{', 1)]", "[reference('x','y','full').z]", "[-]", "[padLeft('', 1048576, 'x')]", "[range(0,10000)]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(text)
		if err != nil {
			return
		}
		got, err := evaluate(t, `"parameters":{"p":{"type":"string","defaultValue":"d"}},`, string(raw))
		if err != nil {
			var e *template.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is not a template error", err)
			}
			return
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatalf("the value is not JSON: %v", err)
		}
	})
}

// TestScopesAndNestedDeploymentsSayWhereAResourceIs wants ids below the scope, and a nested template handed over as it was written.
func TestScopesAndNestedDeploymentsSayWhereAResourceIs(t *testing.T) {
	d, err := template.Evaluate([]byte(`{"parameters":{"who":{"type":"string","defaultValue":"p"}},"resources":[
		{"type":"A.B/c","name":"x","apiVersion":"1"},
		{"type":"Microsoft.Authorization/locks","name":"l","apiVersion":"1","scope":"[resourceId('A.B/c','x')]","dependsOn":["x"]},
		{"type":"Microsoft.Resources/deployments","name":"n","apiVersion":"1","resourceGroup":"other","subscriptionId":"s2","dependsOn":["x"],"properties":{
		  "mode":"Incremental","expressionEvaluationOptions":{"scope":"Inner"},"parameters":{"who":{"value":"[parameters('who')]"}},
		  "template":{"resources":[{"name":"[parameters('who')]"}]}}},
		{"type":"Microsoft.Resources/deployments","name":"here","apiVersion":"1","properties":{"expressionEvaluationOptions":{"scope":"inner"},"template":{}}}]}`), nil, scope)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range d.Resources {
		ids = append(ids, r.ID)
	}
	want := []string{
		"/subscriptions/s1/resourceGroups/rg/providers/A.B/c/x",
		"/subscriptions/s1/resourceGroups/rg/providers/A.B/c/x/providers/Microsoft.Authorization/locks/l",
		"/subscriptions/s2/resourceGroups/other/providers/Microsoft.Resources/deployments/n",
		"/subscriptions/s1/resourceGroups/rg/providers/Microsoft.Resources/deployments/here",
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	body, err := d.Resources[2].Body(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(body)
	const sent = `{"properties":{"expressionEvaluationOptions":{"scope":"Inner"},"mode":"Incremental","parameters":{"who":{"value":"p"}},"template":{"resources":[{"name":"[parameters('who')]"}]}}}`
	if string(got) != sent {
		t.Errorf("got  %s\nwant %s", got, sent)
	}
}

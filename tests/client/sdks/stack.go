// A stack from the cradle to the grave, by gophercloud, which Terraform's provider is made of.
package main

import (
	"fmt"
	"io/ioutil"
	"os"
	"time"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/orchestration/v1/buildinfo"
	"github.com/gophercloud/gophercloud/openstack/orchestration/v1/resourcetypes"
	"github.com/gophercloud/gophercloud/openstack/orchestration/v1/stackevents"
	"github.com/gophercloud/gophercloud/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/openstack/orchestration/v1/stacks"
	"github.com/gophercloud/gophercloud/openstack/orchestration/v1/stacktemplates"
)

const within = 60 * time.Second

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expect(seen, wanted interface{}) {
	if fmt.Sprint(seen) != fmt.Sprint(wanted) {
		must(fmt.Errorf("%v, where %v was expected", seen, wanted))
	}
}

func until(client *gophercloud.ServiceClient, id, wanted string) *stacks.RetrievedStack {
	for end := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		stack, err := stacks.Find(client, id).Extract()
		must(err)
		if stack.Status == wanted {
			return stack
		}
		if time.Now().After(end) {
			must(fmt.Errorf("%s, and never %s", stack.Status, wanted))
		}
	}
}

func main() {
	auth, err := openstack.AuthOptionsFromEnv()
	must(err)
	provider, err := openstack.AuthenticatedClient(auth)
	must(err)
	client, err := openstack.NewOrchestrationV1(
		provider, gophercloud.EndpointOpts{Region: os.Getenv("OS_REGION_NAME")})
	must(err)
	text, err := ioutil.ReadFile(os.Args[1])
	must(err)
	template := &stacks.Template{TE: stacks.TE{Bin: text}}

	info, err := buildinfo.Get(client).Extract()
	must(err)
	expect(info.API.Revision != "", true)
	types, err := resourcetypes.List(client, nil).Extract()
	must(err)
	expect(len(types) > 100, true)
	_, err = resourcetypes.GetSchema(client, "OS::Heat::TestResource").Extract()
	must(err)
	valid, err := stacktemplates.Validate(
		client, stacktemplates.ValidateOpts{Template: string(text)}).Extract()
	must(err)
	expect(len(valid.Parameters), 1)

	made, err := stacks.Create(client, stacks.CreateOpts{
		Name: "gone", TemplateOpts: template, Tags: []string{"go"},
		Parameters: map[string]interface{}{"text": "green"}}).Extract()
	must(err)
	stack := until(client, made.ID, "CREATE_COMPLETE")
	expect(stack.Outputs[0]["output_value"], "green")
	expect(stack.Tags, []string{"go"})

	_, err = stacks.Create(client, stacks.CreateOpts{Name: "gone", TemplateOpts: template}).Extract()
	if _, taken := err.(gophercloud.ErrDefault409); !taken {
		must(fmt.Errorf("a name was given twice: %v", err))
	}

	must(stacks.UpdatePatch(client, "gone", made.ID, stacks.UpdateOpts{
		Parameters: map[string]interface{}{"text": "red"}}).ExtractErr())
	stack = until(client, made.ID, "UPDATE_COMPLETE")
	expect(stack.Outputs[0]["output_value"], "red")

	pages, err := stacks.List(client, stacks.ListOpts{Name: "gone"}).AllPages()
	must(err)
	listed, err := stacks.ExtractStacks(pages)
	must(err)
	expect(len(listed), 1)
	pages, err = stackresources.List(client, "gone", made.ID, nil).AllPages()
	must(err)
	resources, err := stackresources.ExtractResources(pages)
	must(err)
	expect(resources[0].Status, "UPDATE_COMPLETE")
	_, err = stackresources.Metadata(client, "gone", made.ID, "said").Extract()
	must(err)
	pages, err = stackevents.List(client, "gone", made.ID, nil).AllPages()
	must(err)
	events, err := stackevents.ExtractEvents(pages)
	must(err)
	expect(len(events), 8)
	kept, err := stacktemplates.Get(client, "gone", made.ID).Extract()
	must(err)
	expect(len(kept) > 0, true)

	must(stacks.Delete(client, "gone", made.ID).ExtractErr())
	until(client, made.ID, "DELETE_COMPLETE")
}
